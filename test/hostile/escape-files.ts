/** Ways out of a cell through files: mounts, devices, the runtime's binaries, and files that others left or hid. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runDirectory } from '../../packages/server/src/sandbox/kernel/host/run-directory.ts';
import type { HostileCase } from './hostile-case.ts';
import { answersOf, assertExited, backwards } from './seen.ts';

/** The host's programs that take part in a cell. */
const BINARIES = [
  '/usr/bin/crun',
  '/usr/bin/runsc',
  '/usr/bin/perl',
  '/usr/bin/python3',
  '/bin/bash',
  process.execPath,
];

function digestsOfBinaries(): Readonly<Record<string, string>> {
  const present = BINARIES.filter((path) => existsSync(path));
  return Object.fromEntries(
    present.map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  );
}

const before = digestsOfBinaries();

/** Under crun, each mount's path and the options that the mount must have. gVisor shows fewer options: see below. */
const MOUNTS: Readonly<Record<string, readonly string[]>> = {
  '/': ['ro', 'nosuid', 'nodev'],
  '/usr': ['ro', 'nosuid', 'nodev'],
  '/opt/svc/bin/node': ['ro', 'nosuid', 'nodev'],
  '/work': ['nosuid', 'nodev'],
  '/work/input': ['ro', 'nosuid', 'nodev', 'noexec'],
  '/tmp': ['nosuid', 'nodev'],
  '/dev': ['nosuid', 'noexec'],
  '/dev/shm': ['nosuid', 'nodev', 'noexec'],
  '/dev/pts': ['nosuid', 'noexec'],
  '/proc': ['nosuid', 'nodev', 'noexec'],
  '/proc/sys': ['ro'],
  '/svc/guest': ['ro', 'nosuid', 'nodev', 'noexec'],
  '/svc/report': ['nosuid', 'nodev', 'noexec'],
};
const MOUNTS_IN_GVISOR: Readonly<Record<string, readonly string[]>> = {
  '/': ['ro'],
  '/usr': ['ro'],
  '/opt/svc/bin/node': ['ro'],
  '/work/input': ['ro', 'noexec'],
  '/dev/shm': ['noexec'],
  '/svc/guest': ['ro', 'noexec'],
  '/svc/report': ['noexec'],
};

/** The names of everything below a directory. Other cells may appear and vanish while this reads. */
function namesBelow(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => [
      entry.name,
      ...(entry.isDirectory() ? namesBelow(join(directory, entry.name)) : []),
    ]);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOENT');
    return [];
  }
}

export const fileCases: readonly HostileCase[] = [
  {
    id: 'ESC-05',
    title: 'neither the runtime nor an interpreter can be written through /proc, and none has changed',
    holds: 'read-only binds, files of another user; digests compared before and after',
    attack: { program: 'overwrite-runtime.py' },
    expect(seen) {
      assertExited(seen);
      const { opened, tried } = answersOf<{ opened: string[]; tried: number }>(seen);
      assert.deepEqual(opened, []);
      assert.ok(tried >= 8);
      assert.deepEqual(digestsOfBinaries(), before);
    },
  },
  {
    id: 'ESC-16',
    title: 'every mount has its required flags, and a program can execute files that it wrote only in /work and /tmp',
    holds: 'the mounts on the host already have the flags; the cell is observed before it is used',
    accepted: {
      gvisor: 'gVisor shows neither nosuid nor nodev: it has no devices of the host, and no-new-privileges holds',
    },
    attack: { program: 'mounts.py' },
    expect(seen, { hostileClass }) {
      assertExited(seen);
      type Mount = { readonly type: string; readonly options: readonly string[] };
      const { mounts, executed } = answersOf<{ mounts: Record<string, Mount>; executed: Record<string, string> }>(seen);
      const wanted = hostileClass === 'namespace' ? MOUNTS : MOUNTS_IN_GVISOR;
      const missing = Object.entries(wanted).flatMap(([place, options]) =>
        options.filter((option) => !mounts[place]?.options.includes(option)).map((option) => `${option} on ${place}`),
      );
      assert.deepEqual(missing, []);
      assert.deepEqual(
        Object.values(mounts).filter(({ type }) => type.startsWith('cgroup')),
        [],
      );
      const [runs, refused] = ['exit 0', 'EACCES'];
      assert.deepEqual(executed, { '/work': runs, '/work/output': runs, '/tmp': runs, '/dev/shm': refused });
    },
  },
  {
    id: 'ESC-17',
    title: 'only plain devices and the cell’s own terminals exist, and none can be made',
    holds: 'its own /dev, nodev mounts, no CAP_MKNOD',
    accepted: {
      gvisor:
        'gVisor adds its own /dev/fuse and /dev/net/tun, and makes nodes that open nothing: all in its own kernel',
    },
    attack: { program: 'devices.py' },
    expect(seen, { hostileClass }) {
      assertExited(seen);
      const { found, made } = answersOf<{ found: Record<string, string>; made: Record<string, string> }>(seen);
      const devices = Object.entries(found)
        .filter(([, kind]) => /^[cb] /.test(kind))
        .map(([path]) => path);
      const names = ['full', 'null', 'random', 'tty', 'urandom', 'zero', 'ptmx', 'pts/ptmx'];
      const plain = names.map((name) => `/dev/${name}`);
      const ofGvisor = ['/dev/fuse', '/dev/net/tun'];
      const allowed = hostileClass === 'namespace' ? plain : [...plain, ...ofGvisor];
      assert.deepEqual(
        devices.filter((path) => !allowed.includes(path)),
        [],
      );
      assert.ok(!Object.values(made).includes('ok'));
    },
  },
  {
    id: 'ESC-20',
    title: 'files that a job leaves anywhere are gone for the next job',
    holds: 'every writable place is a file system of the cell, removed with it',
    async scenario(target) {
      type Left = { places: string[]; found: Record<string, string[]>; 'shared memory': boolean };
      const [first, second] = [
        await target.attack({ program: 'leave-behind.py' }),
        await target.attack({ program: 'leave-behind.py' }),
      ];
      const [left, found] = [answersOf<Left>(first), answersOf<Left>(second)];
      assert.deepEqual(
        left.places.filter((place) => !place.startsWith('/dev/pts')),
        ['/dev/shm', '/tmp', '/work', '/work/output'],
      );
      assert.deepEqual(found, left);
      assert.equal(found['shared memory'], false);
    },
  },
  {
    id: 'ESC-22',
    title: "secrets in the service's data directory, in its environment and in another job cannot be read",
    holds: 'its own root, namespaces and user',
    async scenario(target) {
      const hidden = await target.start({ program: 'hide.py', values: { MARK: target.canary, SECONDS: 30 } });
      await hidden.said('hidden');
      const CANARY_REVERSED = backwards(target.canary);
      const seen = await target.attack({
        program: 'canary-hunt.py',
        values: { CANARY_REVERSED },
      });
      hidden.run.stop('cancelled');
      await hidden.seen;
      assertExited(seen);
      const answers = answersOf<{ seen: string[]; files: number }>(seen);
      assert.deepEqual(answers.seen, []);
      assert.ok(answers.files > 50, 'almost nothing was searched');
      // Shows that the search works: the same program finds a text that does exist.
      const own = await target.attack({
        program: 'canary-hunt.py',
        values: { CANARY_REVERSED: 'gnitnalp' },
        files: [{ path: 'input/x', content: Buffer.from('planting') }],
      });
      assert.deepEqual(answersOf<{ seen: string[] }>(own).seen, ['/work/input/x']);
    },
  },
  {
    id: 'ESC-22',
    title: 'files that a program wrote exist on the host only in the memory of its cell',
    holds: 'the file systems of a cell are mounted in its own mount namespace only',
    async scenario(target) {
      const running = await target.start({
        program: 'hide.py',
        values: { MARK: `on-disk-${target.canary}`, SECONDS: 30 },
      });
      await running.said('hidden');
      const found = [runDirectory(), target.dataDirectory].flatMap((directory) =>
        namesBelow(directory).filter((name) => name.includes(`on-disk-${target.canary}`)),
      );
      running.run.stop('cancelled');
      await running.seen;
      assert.deepEqual(found, []);
    },
  },
];
