/**
 * Changes the log in a killed service's store as a power cut may. An unfinished write after the last commit loses
 * nothing. If acknowledged data is lost, the next start must report this.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceProcess } from './service-process.ts';

const HEADER_BYTES = 32;
/** A page of 4 KiB and the page's header. */
const FRAME_BYTES = 4096 + 24;

const logOf = (dataDir: string) => join(dataDir, 'svc.db-wal');

/** Adds half a frame after the last frame, like an interrupted write. */
export function tearLogBehindEnd(dataDir: string): void {
  const log = logOf(dataDir);
  if (!existsSync(log)) return;
  const bytes = readFileSync(log);
  writeFileSync(log, bytes.subarray(HEADER_BYTES, HEADER_BYTES + FRAME_BYTES / 2), { flag: 'a' });
}

/**
 * Removes the last acknowledged frame from a copy of the store, and starts a service with this copy. Returns everything
 * that the service does wrong.
 */
export async function problemsOfLostEnd(dataDir: string): Promise<string[]> {
  const acknowledged = acknowledgedFrames(dataDir);
  if (acknowledged < 2) return [];
  const copy = mkdtempSync(join(tmpdir(), 'svc-torn-'));
  try {
    cpSync(dataDir, copy, { recursive: true, filter: (source) => !source.endsWith('.sock') });
    truncateSync(logOf(copy), HEADER_BYTES + (acknowledged - 1) * FRAME_BYTES);
    await using service = new ServiceProcess({ dataDir: copy });
    const isStarted = await service.listening.then(
      () => true,
      () => false,
    );
    if (isStarted) return ['a store that lost its end was served as if it were whole'];
    const lines = service.said.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    return /^vouchbox: [^\n]*its last changes are missing[^\n]*$/.test(lines.join('\n'))
      ? []
      : [`a store that lost its end was not refused in one line: ${service.said}`];
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** How many frames the log had at the last acknowledged commit; 0 if the mark belongs to another log. */
function acknowledgedFrames(dataDir: string): number {
  const [mark, log] = [join(dataDir, 'svc.db-mark'), logOf(dataDir)];
  if (!existsSync(mark) || !existsSync(log)) return 0;
  const marked = readFileSync(mark);
  const isOfThisLog = marked.length === 12 && marked.compare(readFileSync(log), 16, 24, 0, 8) === 0;
  return isOfThisLog ? marked.readUInt32LE(8) : 0;
}
