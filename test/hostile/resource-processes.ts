/** Attacks that exhaust a host's processes or processor time. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { BootstrapError } from '../../packages/server/src/sandbox/sandbox.ts';
import { groupMembers } from './host-groups.ts';
import type { HostileCase, Seen } from './hostile-case.ts';
import { answersOf, assertExited, violationTypes } from './seen.ts';
import { PATIENCE, sizeFor } from './size.ts';
import type { Running, Target } from './target.ts';

/** How long a program may outlive its time limit on a machine that is busy with other cells. */
const GRACE_MILLISECONDS = 3000 * PATIENCE;
/** The largest CPU time that may be measured for a program with a limit of one second. */
const CPU_MILLISECONDS_MAX = 1000 + 800 * PATIENCE;

export const processLimitCases: readonly HostileCase[] = [
  {
    id: 'RES-01',
    title: 'a program gets as many processes as its limit, and not one more',
    holds: 'pids limit of the cell’s group; in gVisor a limit of its own kernel',
    ofOneUser: 'refused processes are not counted, so no violation is reported',
    attack: { program: 'fork-bomb.py', limits: { max_pids: 64, mem_mb: 1024 } },
    expect(seen, { hostileClass, hasOneUser }) {
      assertExited(seen);
      assert.equal(seen.stdout, '63 EAGAIN\n');
      assert.equal(seen.held.effective_limits.max_pids, 64);
      // gVisor's own kernel refuses the fork but counts no refusals, so there is no violation.
      assert.deepEqual(violationTypes(seen), hostileClass === 'namespace' && !hasOneUser ? ['pids'] : []);
    },
  },
  {
    id: 'RES-01',
    title: 'a shell fork bomb is contained, its neighbours continue, and all of it is dead when its time is over',
    holds: 'groups of equal weight; the whole group is killed, not one process',
    alone: true,
    scenario: bombBesideNeighbours,
  },
  {
    id: 'RES-01',
    title: 'children that fork on and on end with their program, whose own end is reported',
    holds: 'process 1 ends all others, again and again until none is left',
    attack: { program: 'fork-on.py', limits: { wall_seconds: 10, cpu_seconds: 60, max_pids: 64 } },
    expect(seen) {
      assertExited(seen);
      assert.equal(seen.stdout, 'over\n');
    },
  },
  {
    id: 'RES-19',
    title: 'a neighbour that has used up its processes takes none of another job’s',
    holds: 'its own user and group for each cell',
    async scenario(target) {
      const hoarder = await target.start({ program: 'hoard-processes.py', limits: { max_pids: 48, mem_mb: 1024 } });
      await hoarder.said('hoarded');
      const seen = await target.attack({ program: 'fork-forty.py', limits: { max_pids: 48, mem_mb: 1024 } });
      hoarder.run.stop('cancelled');
      await hoarder.seen;
      assertExited(seen);
      assert.equal(seen.stdout, '40 of 40\n');
    },
  },
  {
    id: 'RES-11',
    title: 'a program that ignores every signal ends at its wall limit',
    holds: 'SIGKILL to everything in the group',
    attack: { program: 'ignore-signals.py', limits: { wall_seconds: 1 } },
    expect: assertEndedAtWall,
  },
  {
    id: 'RES-13',
    title: 'a program whose processes each end before the CPU limit ends at the CPU limit',
    holds: 'the CPU time of the whole tree is watched',
    alone: true,
    attack: { program: 'cpu-evasion.py', limits: { cpu_seconds: 1 } },
    expect(seen) {
      assert.deepEqual([seen.ending, violationTypes(seen)], [{ kind: 'cpu_limit' }, ['cpu_time']]);
      assert.ok(
        Number(seen.usage.cpu_ms) >= 1000 && Number(seen.usage.cpu_ms) < CPU_MILLISECONDS_MAX,
        `${seen.usage.cpu_ms} ms`,
      );
    },
  },
  {
    id: 'RES-13',
    title: 'many processes spinning at once end at the CPU limit of their tree',
    holds: 'the CPU time of the whole tree is checked more often near the limit',
    alone: true,
    attack: { program: 'spin.py', values: { PROCESSES: 16 }, limits: { cpu_seconds: 1, mem_mb: 512 } },
    expect(seen) {
      assert.deepEqual(seen.ending, { kind: 'cpu_limit' });
      assert.ok(Number(seen.usage.cpu_ms) < CPU_MILLISECONDS_MAX, `${seen.usage.cpu_ms} ms`);
    },
  },
  {
    id: 'RES-13',
    title: 'every one of many spinning programs that keep all processors busy is reported at its CPU limit',
    holds: 'the CPU time is that of the cell’s group on the host, whatever clock a kernel inside has',
    alone: true,
    async scenario(target) {
      let left = sizeFor(target.hostileClass, CROWDED);
      const wrong: string[] = [];
      const runSome = async () => {
        while (left-- > 0) {
          const seen = await unlessUnready(target);
          if (seen === null) {
            left++;
            continue;
          }
          const { ending, violations, usage } = seen;
          const types = violations.map(({ type }) => type).join();
          if (ending.kind !== 'cpu_limit' || types !== 'cpu_time') wrong.push(JSON.stringify({ ending, types, usage }));
        }
      };
      // So many cells at once that each gets a small part of a processor, but few enough that each is ready in time.
      await Promise.all(Array.from({ length: Math.min(left, 3 * availableParallelism()) }, runSome));
      assert.deepEqual(wrong, []);
    },
  },
  {
    id: 'RES-14',
    title: 'a program that closes its output and sleeps has not ended before its wall limit',
    holds: 'the end of the process counts, not the end of its output',
    attack: { program: 'closed-output.py', limits: { wall_seconds: 1 } },
    expect(seen) {
      assertEndedAtWall(seen);
      assert.equal(seen.stdout, 'closing\n');
    },
  },
  {
    id: 'RES-15',
    title: 'a daemon that left its session and closed everything is dead before the result is available',
    holds: 'process 1 of the cell kills the remaining processes; then the group is killed and removed',
    async scenario(target) {
      const running = await target.start({ program: 'daemon.py' });
      const seen = await running.seen;
      assertExited(seen);
      assert.equal(seen.stdout, 'left one\n');
      assert.deepEqual(groupMembers(target.dataDirectory, running.group), []);
    },
  },
  {
    id: 'RES-16',
    title: 'descriptors run out at 256',
    holds: 'RLIMIT_NOFILE',
    attack: { program: 'descriptor-bomb.py' },
    expect(seen) {
      assertExited(seen);
      assert.equal(seen.stdout, '253 EMFILE\n');
    },
  },
  {
    id: 'RES-20',
    title: "a program that brings gVisor's own kernel down at a limit is reported as memory_limit or runtime_failed",
    holds: 'how a program ended is reported by process 1 and by counters; an end that was not observed is an error',
    classes: ['gvisor'],
    attack: { program: 'fork-bomb.py', limits: { max_pids: 256, mem_mb: 64 } },
    expect(seen) {
      assert.ok(['memory_limit', 'runtime_failed'].includes(seen.ending.kind), JSON.stringify(seen.ending));
    },
  },
  {
    id: 'RES-25',
    title:
      'if the runtime is killed from outside, everything in the cell is dead and the service reports its own failure',
    holds: 'the group outlives the runtime and is killed',
    async scenario(target) {
      const running = await target.start({ program: 'wait.sh' });
      const [runtime] = await membersOf(target, running);
      process.kill(runtime as number, 'SIGKILL');
      const seen = await running.seen;
      assert.equal(seen.ending.kind, 'runtime_failed');
      assert.deepEqual(groupMembers(target.dataDirectory, running.group), []);
    },
  },
  {
    id: 'RES-29',
    title: 'a program that crashes leaves no core file, in the cell or on the host',
    holds: 'RLIMIT_CORE',
    attack: { program: 'core-dump.py' },
    expect(seen) {
      assert.deepEqual(seen.ending, { kind: 'signaled', signal: 'SIGABRT' });
      assert.deepEqual(seen.stdout.split('\n').slice(1), ['left []', '']);
    },
  },
  {
    id: 'RES-30',
    title: 'timers, queued signals, locked pages, message queues, shared memory and watches run out',
    holds: 'resource limits; kernel memory counts as the job’s',
    accepted: {
      gvisor: "timers and semaphores are bounded by the job's memory only: they are objects of gVisor's own kernel",
    },
    attack: { program: 'kernel-objects.py' },
    expect(seen, { hostileClass }) {
      assertExited(seen);
      const { timers, ...counted } = answersOf<Record<string, [number, string]>>(seen);
      const numbers = Object.fromEntries(Object.entries(counted).map(([name, [number]]) => [name, number]));
      assert.ok((numbers['queued signals'] ?? 999) <= 256);
      assert.ok((numbers['locked pages'] ?? 999) <= 16);
      assert.ok((numbers['message queues'] ?? 999) <= 256);
      assert.ok((numbers['shared segments'] ?? 9999) <= 4096);
      assert.ok((numbers['inotify'] ?? 9999) <= 256);
      if (hostileClass === 'namespace') assert.ok((timers?.[0] ?? 999) <= 256);
      assert.ok(Number(seen.usage.memory_peak_bytes) < 288 * 1024 * 1024);
    },
  },
];

/** Null if the cell was not ready in time, as happens on a busy machine. Then nothing ran, and a new cell is tried. */
async function unlessUnready(target: Target): Promise<Seen | null> {
  try {
    return await target.attack(SPINNING);
  } catch (error) {
    if (error instanceof BootstrapError) return null;
    throw error;
  }
}

/** How many programs spin in total. */
const CROWDED = { namespace: 16, gvisor: 16, full: 200 } as const;
const SPINNING = { program: 'spin.py', values: { PROCESSES: 1 }, limits: { cpu_seconds: 0.5 } } as const;

function assertEndedAtWall(seen: Seen): void {
  assert.deepEqual([seen.ending, violationTypes(seen)], [{ kind: 'wall_limit' }, ['wall_time']]);
  const limit = Number(seen.held.effective_limits.wall_seconds) * 1000;
  assert.ok(seen.usage.wall_ms !== null && seen.usage.wall_ms < limit + GRACE_MILLISECONDS, `${seen.usage.wall_ms} ms`);
}

/** The host ids in a cell's group, in the order of joining: the runtime is first. */
async function membersOf(target: Target, { group, posture }: Running): Promise<number[]> {
  assert.equal(posture.bootstrap_ready, true);
  const members = groupMembers(target.dataDirectory, group).toSorted((a, b) => a - b);
  // After the highest id, ids begin again, so the lowest id may be of a younger process.
  return await Promise.resolve(members.toSorted((a, b) => startedAt(a) - startedAt(b)));
}

/** When a process started, in ticks since the host's boot. proc_pid_stat(5). */
function startedAt(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19]);
}

async function bombBesideNeighbours(target: Target): Promise<void> {
  const token = (number: number) => ({
    program: 'work.py',
    values: { TOKEN: `neighbour-${number}` },
    outputs: ['output/digest'],
  });
  const alone = await target.attack(token(0));
  const bomb = await target.start({
    program: 'fork-bomb.sh',
    limits: { wall_seconds: 60 * PATIENCE, cpu_seconds: 30 * PATIENCE, max_pids: 64, mem_mb: 512 },
  });
  const neighbours = await target.attackAll([0, 1, 2, 3].map(token));
  bomb.run.stop('cancelled');
  const bombed = await bomb.seen;
  assert.deepEqual(bombed.ending, { kind: 'stopped', cause: 'cancelled' });
  assert.deepEqual(groupMembers(target.dataDirectory, bomb.group), []);
  for (const neighbour of neighbours) assertExited(neighbour);
  assert.equal(new Set(neighbours.map(({ stdout }) => stdout)).size, 4);
  assert.equal(neighbours[0]?.stdout, alone.stdout);
  assert.deepEqual(
    neighbours.map(({ artifacts }) => artifacts.length),
    [1, 1, 1, 1],
  );
}
