/**
 * The service as a separate process that a test can kill without warning at any moment, like a power failure. The
 * service chooses its own port, and its data directory survives.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SVC = fileURLToPath(new URL('../../packages/cli/bin/vouchbox.mjs', import.meta.url));
/** Node's compile cache for the sources. A service that stops writes this cache, so that the next service starts faster. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/crash', import.meta.url));

/** Long enough that a timeout means a start that hangs and not a busy machine. */
const READY_MILLISECONDS_MAX = 240_000;

export interface ServiceProcessOptions {
  readonly dataDir: string;
  /** The words of an outer command that changes the environment and then becomes the service. */
  readonly wrapper?: readonly string[];
  /** Environment variables, mainly settings, beyond those that every crash test has. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** How a process ended: its exit code, or the signal that ended it. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that is the service or is about to become it. Disposing kills the process if it still runs. */
export class ServiceProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<ProcessEnd>;
  readonly #listening: Promise<string>;
  #said = '';
  #url: string | null = null;

  /** Starts the process without waiting for anything. */
  constructor(options: ServiceProcessOptions) {
    const command = [...(options.wrapper ?? []), process.execPath, SVC, 'serve'];
    this.#child = spawn(command[0] as string, command.slice(1), {
      env: { PATH: process.env['PATH'], ...environmentOf(options) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.#child, 'exit').then(([code, signal]) => ({ code, signal }) as ProcessEnd);
    this.#listening = this.#waitForAddress();
    this.#listening.catch(() => {}); // A caller that waits for the address gets the error.
  }

  /** Starts the service and waits until it listens. Rejects with the service's output if the service ends before. */
  static async start(options: ServiceProcessOptions): Promise<ServiceProcess> {
    const service = new ServiceProcess(options);
    try {
      await service.listening;
      return service;
    } catch (error) {
      await service.kill();
      throw error;
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the service's address once the service listens. Rejects if the process ends before. */
  get listening(): Promise<string> {
    return this.#listening;
  }

  /** The address at which the service listens. */
  get url(): string {
    if (this.#url === null) throw new Error('the service does not listen yet');
    return this.#url;
  }

  /** The last part of the output that the process wrote to stdout and stderr. */
  get said(): string {
    return this.#said;
  }

  /** Resolves with how the process ended, once it has ended. */
  get exited(): Promise<ProcessEnd> {
    return this.#exited;
  }

  /** Kills the process without warning and waits until it has ended. The kernel ends the processes that it had started. */
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

  async #waitForAddress(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const note = (line: string) => {
      this.#said = `${this.#said}${line}\n`.slice(-8000);
      const url = /^listening on (http:\S+)/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    };
    const { stdout, stderr } = this.#child;
    for (const input of [stdout, stderr]) if (input !== null) createInterface({ input }).on('line', note);
    this.#child.once('error', reject);
    this.#child.once('close', () => reject(new Error(`the service ended before it listened:\n${this.#said}`)));
    const hangs = () => reject(new Error(`the service does not listen:\n${this.#said}`));
    const deadline = setTimeout(hangs, READY_MILLISECONDS_MAX);
    this.#url = await promise.finally(() => clearTimeout(deadline));
    return this.#url;
  }
}

function environmentOf({ dataDir, environment }: ServiceProcessOptions): Record<string, string> {
  return {
    NODE_COMPILE_CACHE: COMPILED,
    SERVICE_DATA_DIR: dataDir,
    SERVICE_HOST: '127.0.0.1',
    SERVICE_PORT: '0',
    SERVICE_PROVIDER: 'namespace',
    SERVICE_LEGACY_KEYS: `${CRASH_TENANT}=${CRASH_KEY}`,
    SERVICE_RATE_PER_SECOND: '100000',
    SERVICE_RATE_BURST: '100000',
    SERVICE_QUEUE_MAX: '100000',
    SERVICE_TENANT_QUEUE_MAX: '100000',
    SERVICE_FREE_SPACE_RESERVE_MB: '0',
    ...environment,
  };
}

/** The tenant that submits in every crash test, and its key. */
export const CRASH_TENANT = 'crash';
export const CRASH_KEY = 'key-of-crash';
