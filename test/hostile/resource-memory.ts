/** Attacks that exhaust a host's memory, disk or files. */
import assert from 'node:assert/strict';
import { readFileSync, statfsSync } from 'node:fs';
import { groupMembers, statusOf } from './host-groups.ts';
import type { HostileCase, Seen } from './hostile-case.ts';
import { answersOf, assertExited, violationTypes } from './seen.ts';
import { WORK_BYTES } from './target.ts';

const MIB = 1024 * 1024;
/** Memory limits, in MiB, for programs that fill their heap. Both differ from a waiting interpreter's memory. */
const HEAPS = [192, 384] as const;

/** How far usage may exceed the limit. The kernel gives a process that it kills the few pages that it needs to end. */
const DYING_BYTES_MAX = MIB;

function assertRanOutOfMemory(seen: Seen): void {
  assert.deepEqual([seen.ending, violationTypes(seen)], [{ kind: 'memory_limit' }, ['memory']]);
  const peak = Number(seen.usage.memory_peak_bytes);
  assert.ok(peak <= 256 * MIB + DYING_BYTES_MAX, `${peak} bytes`);
}

export const memoryCases: readonly HostileCase[] = [
  {
    id: 'RES-21',
    title: 'a kernel that runs out of memory kills a program before the service, whatever the program does',
    holds: 'every process of a cell has the highest score, and its /proc is read-only',
    async scenario(target) {
      const running = await target.start({ program: 'oom-score.py', values: { SECONDS: 60 } });
      await running.said('}');
      // A process that is ending has no memory and no OOM score any more.
      const members = groupMembers(target.dataDirectory, running.group).filter((pid) => statusOf(pid, 'VmRSS') !== '');
      const scores = members.map((pid) => Number(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8')));
      running.run.stop('cancelled');
      const seen = await running.seen;
      assert.deepEqual([...new Set(scores)], [1000]);
      assert.ok(scores.length > 0);
      assert.deepEqual([...new Set(Object.values(answersOf<object>(seen)))], ['EROFS']);
    },
  },
  ...[
    {
      id: 'RES-03',
      title: 'a Python program that takes ever more memory ends at its limit',
      program: 'memory-bomb.py',
    },
    {
      id: 'RES-03',
      title: 'a Node program that takes memory outside its heap ends at its limit',
      program: 'memory-bomb.cjs',
    },
    {
      id: 'RES-04',
      title: 'children that take the memory end the job, even if their parent exits 0',
      program: 'memory-bomb-children.py',
    },
    {
      id: 'RES-05',
      title: 'memory hidden in the buffers of sockets counts as the job’s',
      program: 'socket-buffers.py',
      ofOneUser: 'it is not seen; the limits of sockets and descriptors bound it',
    },
  ].map(
    ({ program, ...row }): HostileCase => ({
      ...row,
      holds: 'memory limit of the cell’s group, without swap; a kill for memory ends the whole cell',
      attack: { program },
      expect: (seen, { hasOneUser }) =>
        hasOneUser && row.ofOneUser !== undefined ? assertExited(seen) : assertRanOutOfMemory(seen),
    }),
  ),
  {
    id: 'RES-05',
    title:
      'every place that a program may fill is full at its bound, the host’s disk is not touched, and the end is still recorded',
    holds: 'file systems in memory with a size; they count as the job’s memory',
    attack: { program: 'tmpfs-bomb.py', limits: { max_file_mb: 64 } },
    expect(seen, { hasOneUser }) {
      assertExited(seen);
      const taken = answersOf<Record<string, [number, string]>>(seen);
      assert.deepEqual(
        Object.values(taken).map(([, answer]) => answer),
        Array(3).fill('ENOSPC'),
      );
      assert.ok((taken['/work/output']?.[0] ?? Number.POSITIVE_INFINITY) <= WORK_BYTES);
      assert.deepEqual([taken['/tmp']?.[0], taken['/dev/shm']?.[0]], [64 * MIB, 16 * MIB]);
      // Without a control group, nothing measures all memory. The next case shows that all memory counts towards the limit.
      if (!hasOneUser) assert.ok(Number(seen.usage.memory_peak_bytes) > 100 * MIB, 'it does not count as memory');
    },
  },
  {
    id: 'RES-05',
    title: 'filling every place beyond the memory limit ends the job',
    holds: 'file systems in memory count as the job’s memory',
    attack: { program: 'tmpfs-bomb.py', limits: { mem_mb: 48, max_file_mb: 64 } },
    expect: ({ ending }) => assert.deepEqual(ending, { kind: 'memory_limit' }),
  },
  {
    id: 'RES-06',
    title: 'a bounded number of files is reached, and the end is still recorded',
    holds: 'a number of inodes for each file system of the cell',
    accepted: { gvisor: 'in /tmp and /dev/shm the number of files is bounded by the job’s memory only' },
    attack: { program: 'many-files.py' },
    expect(seen, { hostileClass }) {
      assertExited(seen);
      const made = answersOf<Record<string, [number, string]>>(seen);
      assert.ok((made['/work/output']?.[0] ?? 9999) < 1024);
      assert.equal(made['/work/output']?.[1], 'ENOSPC');
      if (hostileClass === 'gvisor') return assert.ok(Number(seen.usage.memory_peak_bytes) < 257 * MIB);
      assert.deepEqual(
        [made['/tmp'], made['/dev/shm']],
        [
          [4095, 'ENOSPC'],
          [1023, 'ENOSPC'],
        ],
      );
    },
  },
  {
    id: 'RES-08',
    title: 'a sparse file of 1 TiB is refused as too large if the program ignores the signal',
    holds: 'RLIMIT_FSIZE',
    attack: { program: 'sparse.py', values: { IGNORE: 'ignore' }, outputs: ['output/huge'] },
    expect(seen) {
      assertExited(seen);
      assert.equal(seen.stdout, 'EFBIG\nEFBIG\n');
      assert.deepEqual(
        seen.artifacts.map(({ size_bytes }) => size_bytes),
        [0],
      );
    },
  },
  {
    id: 'RES-08',
    title: 'a sparse file of 1 TiB ends a program that does not ignore the signal',
    holds: 'RLIMIT_FSIZE',
    attack: { program: 'sparse.py', values: { IGNORE: 'default' } },
    expect(seen) {
      assert.deepEqual([seen.ending, violationTypes(seen)], [{ kind: 'signaled', signal: 'SIGXFSZ' }, ['file_size']]);
    },
  },
  {
    id: 'RES-18',
    title: 'a full JavaScript heap is a failed program, not one that ran out of memory',
    holds: 'a heap limit below the memory limit',
    async scenario(target) {
      const program = 'heap-bomb.cjs';
      for (const { ending, stderr } of await target.attackAll(
        HEAPS.map((mem_mb) => ({ program, limits: { mem_mb } })),
      )) {
        assert.deepEqual(ending, { kind: 'signaled', signal: 'SIGABRT' });
        assert.match(stderr, /JavaScript heap out of memory/);
      }
    },
  },
  {
    id: 'RES-18',
    title: 'buffers may take the rest of the memory, more than the JavaScript heap itself',
    holds: 'a heap limit that counts only the heap',
    attack: { program: 'buffers.cjs' },
    expect: (seen) => assertExited(seen),
  },
  {
    id: 'RES-21',
    title: 'files that a job writes take no space on the host’s disk',
    holds: 'file systems in memory',
    async scenario(target) {
      const freeBefore = statfsSync('/run').bavail;
      const running = await target.start({ program: 'fill-and-wait.py', limits: { max_file_mb: 64 } });
      await running.said('filled');
      const taken = (freeBefore - statfsSync('/run').bavail) * statfsSync('/run').bsize;
      running.run.stop('cancelled');
      await running.seen;
      // Meanwhile, other programs write to this disk. The job wrote 64 MiB.
      assert.ok(taken < 48 * MIB, `${taken} bytes`);
    },
  },
];
