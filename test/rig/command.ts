/** The `vouchbox` command as a separate process, as a person or a supervisor starts it. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** The command's file. */
export const commandFile = join(import.meta.dirname, '../../packages/cli/bin/vouchbox');

export interface CommandOptions {
  /** Variables to add to an environment that has only PATH and a HOME without profiles from `vouchbox login`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Leaves stdin open until `endInput` is called. */
  readonly keepsInput?: true;
  readonly cwd?: string;
  /** The words of an outer command that starts `vouchbox`, such as `unshare`. */
  readonly within?: readonly string[];
}

/** How a command ended: its exit code, or the signal that ended it. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `vouchbox`. Disposing asks it to stop if it still runs: a killed command could not clean up. */
export class Command implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<unknown>;
  stdout = '';
  stderr = '';

  constructor(words: readonly string[], options: CommandOptions = {}) {
    const { PATH = '', HOME = '' } = process.env;
    const [first = '', ...rest] = [...(options.within ?? []), commandFile, ...words];
    this.#child = spawn(first, rest, {
      env: { PATH, HOME, XDG_CONFIG_HOME: '/nonexistent', ...options.env },
      cwd: options.cwd,
    });
    this.#closed = once(this.#child, 'close');
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.#child.stdin.on('error', () => {});
    if (!options.keepsInput) this.#child.stdin.end(options.stdin);
  }

  /** Writes this text to stdin, then ends stdin. */
  endInput(text: string): void {
    this.#child.stdin.end(text);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves with the match once stdout has one. Rejects if the command ends without a match. */
  shows(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#writes('stdout', pattern);
  }

  /** Waits for a match on stderr. */
  complains(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#writes('stderr', pattern);
  }

  async #writes(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match !== null) return match;
      const next = await Promise.race([once(this.#child[stream], 'data'), this.#closed.then(() => null)]);
      if (next === null && !pattern.test(this[stream])) {
        throw new Error(`vouchbox ended without ${pattern}: ${this.stdout}${this.stderr}`);
      }
    }
  }

  async ended(): Promise<Ended> {
    await this.#closed;
    const { exitCode, signalCode } = this.#child;
    return { code: exitCode, signal: signalCode, stdout: this.stdout, stderr: this.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#closed;
  }
}

/** Runs `vouchbox` to its end. */
export async function vouchbox(words: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  await using command = new Command(words, options);
  return await command.ended();
}
