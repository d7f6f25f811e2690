/**
 * A witness that is not the service: a pipe of the host that every program of a crash test writes its number into as its
 * first act, whichever process of the service started it and whatever became of that process since. A number that comes
 * twice is a program that ran twice.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, constants, cpSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A small directory of the host that every cell of its own interpreters sees. */
const SEEN_AT = '/etc/alternatives';
/** Where a program finds the pipe. */
export const WITNESS_PIPE = `${SEEN_AT}/ran`;

const LAST = 'nothing more';

/** Counts from when it is made until it is disposed. */
export class Witness implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'svc-witness-'));
  readonly #reader: Socket;
  readonly #writer: number;
  readonly #runs = new Map<number, number>();
  readonly #seenAll = Promise.withResolvers<void>();

  constructor() {
    cpSync(SEEN_AT, this.#directory, { recursive: true, verbatimSymlinks: true });
    chmodSync(this.#directory, 0o755);
    const pipe = join(this.#directory, 'ran');
    const made = spawnSync('mkfifo', ['--mode=666', pipe], { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`no pipe could be made: ${made.stderr}`);
    // Held for writing too: a pipe without a writer is at its end.
    this.#writer = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    this.#reader = new Socket({ fd: openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK), writable: false });
    createInterface({ input: this.#reader }).on('line', (line) => this.#note(line));
  }

  /** Put before a command: it then sees the pipe beside what is in that directory, which nobody else does. */
  get wrapper(): readonly string[] {
    const mount = `mount --bind "$0" ${SEEN_AT} && exec "$@"`;
    return ['unshare', '--mount', 'sh', '-c', mount, this.#directory];
  }

  /** How often the program of each number began. Call it once nothing runs any more: it waits for all that was written. */
  async runs(): Promise<ReadonlyMap<number, number>> {
    writeSync(this.#writer, `${LAST}\n`);
    await this.#seenAll.promise;
    return this.#runs;
  }

  #note(line: string): void {
    const number = Number(line);
    if (line === LAST) this.#seenAll.resolve();
    else this.#runs.set(number, (this.#runs.get(number) ?? 0) + 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader.destroy();
    closeSync(this.#writer);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
