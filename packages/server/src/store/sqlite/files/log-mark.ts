/**
 * Remembers how long the write-ahead log was when a commit was last answered, in a file of its own beside the store.
 * SQLite takes a log up to the first frame that does not hold, and cannot know what stood behind it: one that was cut,
 * or that rotted, passes for a shorter one. What is remembered says that it was longer.
 *
 * The mark is written when the commit is on disk and is not synced itself: it may be older than the log, never newer.
 * Nothing follows from a mark that is missing or of another log. https://www.sqlite.org/fileformat2.html#walformat
 */
import { closeSync, constants, existsSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { lacksLastWrites } from './store-lock.ts';

/** Where the header of a log has its two salts: a log that begins anew gets others. */
const SALTS_AT = 16;
const SALTS_BYTES = 8;
/** The salts, then the number of frames. */
const MARK_BYTES = SALTS_BYTES + 4;

/** The open mark of a store; disposing closes it. */
export class LogMark implements Disposable {
  readonly #file: number;
  readonly #logPath: string;
  readonly #mark = Buffer.alloc(MARK_BYTES);
  #log: number | null = null;

  /** `forget` drops what an earlier process remembered. The log may not be there yet. */
  constructor(path: string, { forget }: { readonly forget: boolean }) {
    if (forget) rmSync(`${path}-mark`, { force: true });
    this.#logPath = `${path}-wal`;
    this.#file = openSync(`${path}-mark`, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** @throws StoreError `corrupt` where the log that is found has fewer frames than it is remembered to have had. */
  expect(frames: number): void {
    const remembered = Buffer.alloc(MARK_BYTES);
    if (readSync(this.#file, remembered, 0, MARK_BYTES, 0) < MARK_BYTES || !this.#readSalts()) return;
    const isOfThisLog = remembered.compare(this.#mark, 0, SALTS_BYTES, 0, SALTS_BYTES) === 0;
    if (isOfThisLog && frames < remembered.readUInt32LE(SALTS_BYTES)) throw lacksLastWrites();
  }

  /** Remembers that the log has so many frames. Only after they are on disk. */
  remember(frames: number): void {
    if (!this.#readSalts()) return;
    this.#mark.writeUInt32LE(frames, SALTS_BYTES);
    writeSync(this.#file, this.#mark, 0, MARK_BYTES, 0);
  }

  /** Reads which log this is; false if there is none. */
  #readSalts(): boolean {
    if (this.#log === null && !existsSync(this.#logPath)) return false;
    this.#log ??= openSync(this.#logPath, 'r');
    return readSync(this.#log, this.#mark, 0, SALTS_BYTES, SALTS_AT) === SALTS_BYTES;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    if (this.#log !== null) closeSync(this.#log);
  }
}
