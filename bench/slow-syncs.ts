/** Runs a program, and everything that it starts, as on a disk with slower syncs. Many servers have such disks. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { scratchDirectory } from './speed/bench-service.ts';

const SOURCE = join(import.meta.dirname, 'slow-syncs.c');

/** Runs this program again, with file syncs that take at least this many milliseconds. Returns its exit code. */
export function runWithSlowSyncs(milliseconds: number): number {
  using scratch = scratchDirectory();
  // PostgreSQL runs as its own user, and that user must be able to load the library.
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

/** The least number of milliseconds that a sync takes in this process; 0 if only the disk decides. */
export const slowSyncMilliseconds = Number(process.env['SYNC_NANOSECONDS'] ?? 0) / 1e6;
