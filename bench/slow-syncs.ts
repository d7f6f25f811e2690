/** Runs a program and everything that it starts on a disk whose syncs take longer, as those of many servers do. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { scratchDirectory } from './speed/bench-service.ts';

const SOURCE = join(import.meta.dirname, 'slow-syncs.c');

/** Runs this program again, with syncs of files that take at least so many milliseconds. Gives its exit code. */
export function runWithSlowSyncs(milliseconds: number): number {
  using scratch = scratchDirectory();
  // PostgreSQL runs as a user of its own, and must be able to load the library.
  chmodSync(scratch.path, 0o755);
  const library = join(scratch.path, 'slow-syncs.so');
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, SOURCE]);
  const slow = { LD_PRELOAD: library, SYNC_NANOSECONDS: String(Math.round(milliseconds * 1e6)) };
  const { status } = spawnSync(process.execPath, process.argv.slice(1), {
    stdio: 'inherit',
    env: { ...process.env, ...slow },
  });
  return status ?? 1;
}

/** Milliseconds that each sync of this process takes at least; 0 if its syncs are those of the disk. */
export const slowSyncMilliseconds = Number(process.env['SYNC_NANOSECONDS'] ?? 0) / 1e6;
