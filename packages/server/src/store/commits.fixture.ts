/** For tests: counts the transactions that were really committed, as seen in a store's write-ahead log. */
import { existsSync, readFileSync } from 'node:fs';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * How many transactions are in the log of the store at this path, counted by the frames that end a transaction. If the
 * log started again, only its transactions since then are counted. https://www.sqlite.org/fileformat2.html#walformat
 */
export function commitsIn(path: string): number {
  const log = existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`) : Buffer.alloc(0);
  if (log.length < HEADER_BYTES) return 0;
  const pageBytes = log.readUInt32BE(8);
  let commits = 0;
  for (let at = HEADER_BYTES; at + FRAME_HEADER_BYTES <= log.length; at += FRAME_HEADER_BYTES + pageBytes) {
    const isOfThisLog = log.compare(log, 16, 24, at + 8, at + 16) === 0;
    if (isOfThisLog && log.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return commits;
}
