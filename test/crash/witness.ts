/**
 * A witness that is not the service: the kernel's own news of processes (connector, PROC_EVENT_COMM). Every program of a
 * crash test begins by giving a process a name with its number, which no cell can hide from the host, whichever process of
 * the service started it and whatever became of that process since. A number that comes twice is a program that ran twice.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const LISTENER = fileURLToPath(new URL('./listen-for-names.py', import.meta.url));
/** Of a process: 15 characters at most (proc_pid_comm(5)). */
const LAST = 'last';

/** Counts from when it is opened until it is disposed. */
export class Witness implements AsyncDisposable {
  /** Told apart from other witnesses of this host. */
  readonly #mark = `w${randomBytes(2).toString('hex')}-`;
  readonly #listener: ChildProcess;
  readonly #runs = new Map<number, number>();
  readonly #seenAll = Promise.withResolvers<void>();

  private constructor() {
    this.#listener = spawn('/usr/bin/python3', ['-I', '-u', LISTENER, this.#mark], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  /** Resolves once nothing that runs from now on is missed. Rejects where the kernel tells no news. */
  static async open(): Promise<Witness> {
    const witness = new Witness();
    const lines = createInterface({ input: witness.#listener.stdout as Readable });
    const ended = once(witness.#listener, 'exit').then(() => {
      throw new Error('the kernel tells no news of processes here');
    });
    ended.catch(() => {}); // Its end is also that of a witness that was disposed.
    await Promise.race([once(lines, 'line'), ended]);
    lines.on('line', (line) => witness.#note(line));
    return witness;
  }

  /** What a bash program of this number begins with. */
  commandOf(number: number): string {
    return `perl -e '$0 = "${this.#mark}${number}"'`;
  }

  /** How often the program of each number began. Call it once nothing runs any more: it waits for all that was told. */
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
