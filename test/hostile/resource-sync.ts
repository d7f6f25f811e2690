/** Attacks that ask the host to write data to disk. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostileCase } from './hostile-case.ts';
import { assertExited } from './seen.ts';
import type { Target } from './target.ts';

/** Prints how many pages of a file have not been written out yet: cachestat(2), Linux 6.5. */
const DIRTY_PAGES = `
import ctypes, os, struct, sys
room = ctypes.create_string_buffer(40)
opened = os.open(sys.argv[1], os.O_RDONLY)
if ctypes.CDLL(None, use_errno=True).syscall(451, opened, struct.pack("QQ", 0, 0), room, 0) != 0:
    raise OSError(ctypes.get_errno(), "cachestat")
print(struct.unpack("5Q", room.raw)[1])
`;

export const syncCases: readonly HostileCase[] = [
  {
    id: 'RES-33',
    title: 'sync and syncfs succeed and write out nothing of the host, and fsync of the job’s own file works',
    holds: 'under the host’s kernel a filter answers both; gVisor’s own kernel knows only the files of its cell',
    needsRoot: true,
    async scenario(target) {
      const seen = await target.attack({ program: 'sync.py', outputs: ['output/file'] });
      assertExited(seen);
      assert.equal(seen.stdout, '/ 0\n/usr 0\n/work 0\n/tmp 0\ndone\n');
      assert.equal(Buffer.from(seen.artifacts[0]?.content ?? []).toString(), 'written');
      await assertHostKeepsWriting(target);
    },
  },
];

/** Tries several times, because the host may write the file out by itself at any moment. Fails if every try fails. */
async function assertHostKeepsWriting(target: Target): Promise<void> {
  const directory = mkdtempSync(join(process.cwd(), 'node_modules/.svc-sync-'));
  try {
    for (let left = 5; left > 0; left--) {
      const path = join(directory, String(left));
      writeFileSync(path, Buffer.alloc(1 << 20, left));
      await target.attack({ program: 'sync.py' });
      if (dirtyPages(path) > 0) return;
    }
    assert.fail('a job had the files of the host written out');
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function dirtyPages(path: string): number {
  return Number(execFileSync('python3', ['-c', DIRTY_PAGES, path], { encoding: 'utf8' }));
}
