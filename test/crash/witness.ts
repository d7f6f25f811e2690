/**
 * A witness that is independent of the service: the kernel's reports about process names (connector, PROC_EVENT_COMM).
 * Every program in a crash test begins by giving a process a name with the program's number. No cell can hide that name
 * from the host, even if the service process that started the cell has ended. If a number occurs twice, its program ran
 * twice.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const LISTENER = fileURLToPath(new URL('./listen-for-names.py', import.meta.url));
/** The name that ends the wait for more names. It is short: a process name has at most 15 characters (proc_pid_comm(5)). */
const LAST = 'last';

/** Counts the programs that begin while the witness is open. */
export class Witness implements AsyncDisposable {
  /** Distinguishes this witness from other witnesses on this host. */
  readonly #mark = `w${randomBytes(2).toString('hex')}-`;
  readonly #listener: ChildProcess;
  readonly #runs = new Map<number, number>();
  readonly #seenAll = Promise.withResolvers<void>();

  private constructor() {
    this.#listener = spawn('/usr/bin/python3', ['-I', '-u', LISTENER, this.#mark], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  /** Resolves once the witness sees every program that begins from then on. Rejects if the kernel reports no processes. */
  static async open(): Promise<Witness> {
    const witness = new Witness();
    const lines = createInterface({ input: witness.#listener.stdout as Readable });
    const ended = once(witness.#listener, 'exit').then(() => {
      throw new Error('the kernel reports no processes here');
    });
    ended.catch(() => {}); // The listener also ends when the witness is disposed.
    await Promise.race([once(lines, 'line'), ended]);
    lines.on('line', (line) => witness.#note(line));
    return witness;
  }

  /** The first lines of the bash program with this number. */
  commandOf(number: number): string {
    return `perl -e '$0 = "${this.#mark}${number}"'`;
  }

  /** How often the program with each number began. Call this after all programs have ended: it waits for all reports. */
  async runs(): Promise<ReadonlyMap<number, number>> {
    spawnSync('/usr/bin/perl', ['-e', `$0 = "${this.#mark}${LAST}"`]);
    await this.#seenAll.promise;
    return this.#runs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.kill('SIGKILL');
  }

  #note(name: string): void {
    const number = Number(name);
    if (name === LAST) this.#seenAll.resolve();
    else this.#runs.set(number, (this.#runs.get(number) ?? 0) + 1);
  }
}
