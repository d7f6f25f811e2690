/** Two jobs side by side: neither sees, signals, reads, fills up or starves the other. */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { groupCpuMilliseconds } from './host-groups.ts';
import type { HostileCase } from './hostile-case.ts';
import { answersOf, assertExited, backwards } from './seen.ts';
import { PATIENCE } from './size.ts';

export const neighbourCases: readonly HostileCase[] = [
  {
    id: 'NEXT-01',
    title: 'a job sees no file, process, socket or shared memory of its neighbour, and signals none of its processes',
    holds: 'a mount, process, network and IPC namespace for each cell',
    ofOneUser: 'process 1 of its own cell may be signalled, and gets none of it',
    async scenario(target) {
      const mark = `mark${target.canary.slice(-8)}`;
      const hidden = await target.start({
        program: 'hide.py',
        values: { MARK: mark, SECONDS: 30 * PATIENCE },
        limits: { wall_seconds: 60 * PATIENCE },
      });
      await hidden.said('hidden');
      const seeker = await target.attack({ program: 'seek.py', values: { MARK_REVERSED: backwards(mark) } });
      hidden.run.stop('cancelled');
      const { stdout } = await hidden.seen;
      assertExited(seeker);
      const { seen, signalled, processes } = answersOf<{ seen: string[]; signalled: number[]; processes: number }>(
        seeker,
      );
      assert.deepEqual(seen, []);
      assert.deepEqual(
        signalled,
        [target.hasOneUser ? 1 : -1],
        'of all processes there could be, only process 1 is there, and it may not be signalled',
      );
      assert.equal(processes, 2);
      assert.equal(stdout, 'hidden\n', 'nobody connected');
    },
  },
  {
    id: 'NEXT-02',
    title: 'a job that fills everything it can leaves its neighbour all of its own resources',
    holds: 'its own file systems for each cell',
    async scenario(target) {
      const filling = await target.start({ program: 'fill-and-wait.py', limits: { max_file_mb: 64 } });
      await filling.said('filled');
      const seen = await target.attack({ program: 'tmpfs-bomb.py', limits: { max_file_mb: 64 } });
      filling.run.stop('cancelled');
      await filling.seen;
      assertExited(seen);
      assert.equal(answersOf<Record<string, [number, string]>>(seen)['/tmp']?.[0], 64 * 1024 * 1024);
    },
  },
  {
    id: 'NEXT-03',
    title: 'a job with sixty spinning processes gets no more processor time than its neighbour with one',
    holds: 'groups of equal weight',
    alone: true,
    async scenario(target) {
      const limits = { wall_seconds: 60, cpu_seconds: 60, mem_mb: 1024, max_pids: 64 };
      const many = await target.start({
        program: 'spin.py',
        values: { PROCESSES: SPINNERS[target.hostileClass] },
        limits,
      });
      const one = await target.start({ program: 'spin.py', values: { PROCESSES: 1 }, limits });
      await Promise.all([many.said('spinning'), one.said('spinning')]);
      const used = () => [one, many].map(({ group }) => groupCpuMilliseconds(target.dataDirectory, group));
      const before = used();
      let [single, crowd] = [0, 0];
      // One thread uses at most one processor. Without weights, it would get a thirtieth or a sixtieth as much as the crowd.
      const isFair = () => single > crowd / 8;
      for (let round = 0; round < SPIN_ROUNDS_MAX && !isFair(); round++) {
        await new Promise((resolve) => setTimeout(resolve, SPIN_MILLISECONDS));
        [single = 0, crowd = 0] = used().map((now, at) => now - (before[at] ?? 0));
      }
      for (const { run } of [many, one]) run.stop('cancelled');
      await Promise.all([many.seen, one.seen]);
      assert.ok(isFair(), `the single one had ${single} ms, the crowd ${crowd} ms`);
    },
  },
  {
    id: 'NEXT-04',
    title: 'jobs beside a job that runs out of memory end as they would alone',
    holds: 'a memory limit for each group; the kernel kills within the group',
    async scenario(target) {
      const work = [1, 2, 3].map((number) => ({ program: 'work.py', values: { TOKEN: `memory-${number}` } }));
      const [bomb, ...others] = await target.attackAll([{ program: 'memory-bomb.py' }, ...work]);
      assert.deepEqual(bomb?.ending, { kind: 'memory_limit' });
      for (const seen of others) assertExited(seen);
      assert.equal(new Set(others.map(({ stdout }) => stdout)).size, 3);
    },
  },
  {
    id: 'NEXT-05',
    title: 'each of many concurrent jobs gets its own output, byte for byte, and no other',
    holds: 'pipes and a workspace for each cell',
    alone: true,
    async scenario(target) {
      const count = CROWD[target.hostileClass];
      const attacks = Array.from({ length: count }, (_, number) => ({
        program: 'echo.sh',
        stdin: `${number} ${'x'.repeat(number * 997)}\n`,
        outputs: ['output/copy'],
      }));
      const all = await target.attackAll(attacks);
      for (const [number, { stdout, stderr, artifacts }] of all.entries()) {
        const expected = attacks[number]?.stdin ?? '';
        const copy = Buffer.from(artifacts[0]?.content ?? []).toString();
        assert.deepEqual(
          [stdout === expected, stderr === expected, copy === expected],
          [true, true, true],
          `job ${number}`,
        );
      }
    },
  },
  {
    id: 'NEXT-06',
    title:
      'a job that watches every place it can sees only its own files, and nothing that its neighbour and the host open',
    holds: 'the cell’s own overlay shows every tree of the host, and no other cell has its inodes',
    ofOneUser: 'the devices are the host’s, so it sees that somebody used one',
    async scenario(target) {
      const watcher = await target.start({ program: 'watch-others.py' });
      await watcher.said('watching');
      for (const program of ['be-noticed.py', 'buffers.cjs', 'echo.sh']) await target.attack({ program });
      for (const path of ['/usr/bin/perl', '/usr/bin/bash', process.execPath, '/dev/zero']) openAndClose(path);
      // Waits for two more events from the watcher's own file. They come after all events that the neighbours caused.
      const before = Number(watcher.output().match(/own (\d+)\n$/)?.[1] ?? 0);
      await watcher.said(`own ${before + 2}\n`);
      watcher.run.stop('cancelled');
      const { stdout } = await watcher.seen;
      assert.deepEqual(
        stdout
          .split('\n')
          .filter((line) => line.startsWith('saw') && !(target.hasOneUser && line.startsWith('saw /dev/'))),
        [],
      );
      assert.ok(Number(stdout.match(/^watching (\d+)$/m)?.[1]) >= 20, stdout.slice(0, 200));
    },
  },
  {
    id: 'NEXT-07',
    title: 'a lock that a job holds on a file of every cell does not block its neighbour',
    holds: 'the cell’s own overlay shows every tree of the host, and no other cell has its inodes',
    ofOneUser: 'the devices are the host’s, so a lock on one blocks a lock of another cell on it',
    async scenario(target) {
      const holder = await target.start({ program: 'hold-locks.py', values: { SECONDS: 30 } });
      await holder.said('}');
      const other = await target.attack({ program: 'hold-locks.py', values: { SECONDS: 0 } });
      holder.run.stop('cancelled');
      const [first, second] = [await holder.seen, other].map((seen) => answersOf<Record<string, string>>(seen));
      assert.deepEqual(
        [first?.['/'], first?.['/usr/bin/perl'], first?.['/dev/zero']],
        ['taken', 'taken', DEVICE_LOCK[target.hostileClass]],
      );
      const blocked = 'record lock: Resource temporarily unavailable';
      const ofHost = target.hasOneUser ? { '/dev/null': blocked, '/dev/zero': blocked } : {};
      assert.deepEqual(second, { ...first, ...ofHost });
    },
  },
];

/** gVisor has no record locks on devices, so they block no neighbour. */
const DEVICE_LOCK = { namespace: 'taken', gvisor: 'record lock: No locks available' } as const;

function openAndClose(path: string): void {
  closeSync(openSync(path, 'r'));
}

const SPINNERS = { namespace: 60, gvisor: 30 } as const;
/** How long programs spin until their shares of the processors are compared, all from the beginning. */
const SPIN_MILLISECONDS = 4000;
/** The kernel divides a group's weight among processors by their load. A sandbox of many threads may be behind for seconds. */
const SPIN_ROUNDS_MAX = 6;
const CROWD = { namespace: 32, gvisor: 10 } as const;
