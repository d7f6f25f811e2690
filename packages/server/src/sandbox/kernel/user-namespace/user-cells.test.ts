/** Real cells that an ordinary user makes, on a host whose groups can be given to that user from outside. */
import { execFileSync } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { readCgroupLayout } from '../cgroup/layout.ts';
import { enterProgram } from './apparmor.ts';

/** `nobody`, because newuidmap(1) wants a user with a name. It has subordinate ids only in the test's own mount namespace. */
const USER = 65_534;
const SUBORDINATES = { first: 0x60000000, count: 65_536 };
const layout = readCgroupLayout();
const v1 = layout.usable !== null && 'v1' in layout.usable ? layout.usable.v1 : null;
const FIXTURE = fileURLToPath(new URL('user-cells.fixture.ts', import.meta.url));

/** A group for this test in each hierarchy. The groups belong to the user. */
function givenGroups(mounts: NonNullable<typeof v1>): Record<string, string | null> {
  const name = `svc-user-test-${process.pid}`;
  return Object.fromEntries(
    Object.entries(mounts).map(([controller, mount]) => {
      if (mount === null) return [controller, null];
      const path = join(mount, name);
      mkdirSync(path, { recursive: true });
      chownSync(path, USER, USER);
      onTestFinished(() => {
        for (const each of [join(path, 'cells'), path]) if (existsSync(each)) rmdirSync(each);
      });
      return [controller, path];
    }),
  );
}

it.runIf(v1 !== null && ['/usr/bin/newuidmap', '/etc/subuid', '/etc/subgid'].every((path) => existsSync(path)))(
  'an ordinary user with subordinate users makes cells whose programs cannot change a device',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-user-cells-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    chownSync(directory, USER, USER);
    const enter = join(directory, 'enter');
    copyFileSync(enterProgram(), enter);
    writeFileSync(join(directory, 'subid'), `nobody:${SUBORDINATES.first}:${SUBORDINATES.count}\n`);
    const mounts = ['subuid', 'subgid'].map((name) => `mount --bind ${directory}/subid /etc/${name}`);
    const as = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'];
    const ranges = [SUBORDINATES.first, SUBORDINATES.first, SUBORDINATES.count].map(String);
    const command = [
      process.execPath,
      FIXTURE,
      join(directory, 'run'),
      JSON.stringify(givenGroups(v1 as NonNullable<typeof v1>)),
    ];
    const script = `${mounts.join('; ')}; exec "$@"`;
    const words = ['--mount', 'sh', '-c', script, 'sh', ...as, enter, ...ranges, ...command];
    const said = JSON.parse(execFileSync('unshare', words, { encoding: 'utf8' })) as Record<string, string>;
    const lines = (said['bash'] ?? '').trim().split('\n');
    expect(lines.filter((line) => !/^ /.test(line)).toSorted()).toEqual([
      '1000',
      expect.stringMatching(/^touch: .*Read-only file system$/),
      'written',
    ]);
    expect(lines.filter((line) => /^ /.test(line)).map((line) => line.trim().split(/\s+/)[0])).toEqual(['0', '1000']);
    expect(said['python']).toBe('1000 True\n');
  },
);
