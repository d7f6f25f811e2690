/**
 * The service as a process of its own, so that it can be killed as a machine's power is cut: without a word, at any
 * moment. Its port is its own choice; its data directory is what survives.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SVC = fileURLToPath(new URL('../../packages/cli/bin/svc.mjs', import.meta.url));
const READY_MILLISECONDS_MAX = 30_000;

export interface ServiceProcessOptions {
  readonly dataDir: string;
  /** Put before the service's own command: a tracer that injects faults, say. */
  readonly wrapper?: readonly string[];
  /** Settings beside those every crash test has. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A service that printed where it listens. Disposing it kills it, if it still lives. */
export class ServiceProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<{ code: number | null; signal: string | null }>;

  private constructor(url: string, child: ChildProcess, exited: ServiceProcess['exited']) {
    this.url = url;
    this.#child = child;
    this.#exited = exited;
  }

  /** Starts the service and waits until it listens. Rejects with what it printed where it ends before. */
  static async start(options: ServiceProcessOptions): Promise<ServiceProcess> {
    const command = [...(options.wrapper ?? []), process.execPath, SVC, 'serve'];
    const child = spawn(command[0] as string, command.slice(1), {
      env: { PATH: process.env['PATH'], ...settingsOf(options) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as { code: number; signal: string });
    return new ServiceProcess(await listening(child), child, exited);
  }

  /** How the process ended, once it has. */
  get exited(): Promise<{ code: number | null; signal: string | null }> {
    return this.#exited;
  }

  /** Ends the process without warning and waits until it is gone. What it started goes on. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  /** Asks the process to stop and returns its exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return (await this.#exited).code;
  }
}

function settingsOf({ dataDir, settings }: ServiceProcessOptions): Record<string, string> {
  return {
    SERVICE_DATA_DIR: dataDir,
    SERVICE_HOST: '127.0.0.1',
    SERVICE_PORT: '0',
    SERVICE_PROVIDER: 'namespace',
    SERVICE_LEGACY_KEYS: 'crash=key-of-crash',
    SERVICE_RATE_PER_SECOND: '100000',
    SERVICE_RATE_BURST: '100000',
    SERVICE_QUEUE_MAX: '100000',
    SERVICE_TENANT_QUEUE_MAX: '100000',
    SERVICE_FREE_SPACE_RESERVE_MB: '0',
    ...settings,
  };
}

async function listening(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  const note = (line: string) => {
    said = `${said}${line}\n`.slice(-4000);
  };
  const output = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  output.on('line', (line) => {
    note(line);
    const url = /listening on (http:\S+)/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  });
  createInterface({ input: child.stderr as NonNullable<typeof child.stderr> }).on('line', note);
  child.once('error', reject);
  child.once('close', () => reject(new Error(`the service ended before it listened:\n${said}`)));
  const deadline = setTimeout(() => reject(new Error(`the service does not listen:\n${said}`)), READY_MILLISECONDS_MAX);
  return await promise.finally(() => clearTimeout(deadline));
}
