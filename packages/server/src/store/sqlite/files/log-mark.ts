/**
 * Remembers how long the write-ahead log was at the last answered commit, in a separate file beside the store. SQLite reads a log
 * up to the first frame with a wrong checksum. It cannot know whether more frames followed, so a cut or damaged log looks like a
 * shorter one. The mark shows that the log was longer.
 *
 * The mark is written once the commit is on disk. The mark itself is not synced, so it may be older than the log but never newer.
 * A missing mark, or the mark of another log, is ignored. https://www.sqlite.org/fileformat2.html#walformat
 */
import { closeSync, constants, existsSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { lacksLastWrites } from './store-lock.ts';

/** The offset of the two salts in a log's header. A log that starts again gets new salts. */
const SALTS_AT = 16;
const SALTS_BYTES = 8;
/** The salts, then the number of frames. */
const MARK_BYTES = SALTS_BYTES + 4;

/** A store's open mark. Disposing closes it. */
export class LogMark implements Disposable {
  readonly #file: number;
  readonly #logPath: string;
  readonly #mark = Buffer.alloc(MARK_BYTES);
  #log: number | null = null;
  /** The length of the log if its end may not be on disk yet; otherwise null. */
  #unsynced: number | null = null;

  /** `forget` drops the mark of an earlier process. The log need not exist yet. */
  constructor(path: string, { forget }: { readonly forget: boolean }) {
    if (forget) rmSync(`${path}-mark`, { force: true });
    this.#logPath = `${path}-wal`;
    this.#file = openSync(`${path}-mark`, constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** @throws StoreError `corrupt` if the log has fewer frames than the mark says */
  expect(frames: number): void {
    const remembered = Buffer.alloc(MARK_BYTES);
    if (readSync(this.#file, remembered, 0, MARK_BYTES, 0) < MARK_BYTES || !this.#readSalts()) return;
    const isOfThisLog = remembered.compare(this.#mark, 0, SALTS_BYTES, 0, SALTS_BYTES) === 0;
    if (isOfThisLog && frames < remembered.readUInt32LE(SALTS_BYTES)) throw lacksLastWrites();
  }

  /** Remembers the number of frames after a commit. If the commit lagged, its frames are remembered once they are on disk. */
  remember(frames: number, { hasLagged }: { readonly hasLagged: boolean }): void {
    if (hasLagged) this.#unsynced = frames;
    // A commit without changes adds no frames, and puts nothing on disk.
    else if (frames !== this.#unsynced) this.#unsynced = null;
    if (this.#unsynced !== null || !this.#readSalts()) return;
    this.#mark.writeUInt32LE(frames, SALTS_BYTES);
    writeSync(this.#file, this.#mark, 0, MARK_BYTES, 0);
  }

  /** Reads the salts, which tell one log from another; false if there is no log. */
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
