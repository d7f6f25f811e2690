/**
 * The last head that this node knows to be signed by the log's key, kept in the file `log-mark` in the data directory. The file
 * is on disk before anybody gets the head, so it shows if a store was rolled back. In the same way, `svc.db-mark` shows if the
 * end of the store's own log was lost. Backups do not contain `log-mark`.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, noteText, parseCheckpoint } from '@vouchbox/evidence';

const pathIn = (dataDir: string) => join(dataDir, 'log-mark');

/** The kept head; null if there is no file. @throws if the file cannot be read or does not have a head */
export async function readLogMark(dataDir: string): Promise<Checkpoint | null> {
  let text: string;
  try {
    text = await readFile(pathIn(dataDir), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const parsed = parseCheckpoint(text);
  if (parsed.kind === 'refused') throw new Error(`log-mark has no head: ${parsed.reason}`);
  return parsed.checkpoint;
}

/** Replaces the kept head. A crash leaves either the old or the new head. The new head is durable when this resolves. */
export async function writeLogMark(dataDir: string, { note }: Checkpoint): Promise<void> {
  const path = pathIn(dataDir);
  {
    await using fresh = await open(`${path}.new`, 'w', 0o600);
    await fresh.writeFile(noteText(note));
    await fresh.sync();
  }
  await rename(`${path}.new`, path);
  await using directory = await open(dataDir, 'r');
  await directory.sync();
}
