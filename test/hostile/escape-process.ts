/** Ways out of a cell through processes: process 1, descriptors, the environment, other users, the terminal. */
import assert from 'node:assert/strict';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { commandOf, groupMembers, statusOf } from './host-groups.ts';
import type { HostileCase } from './hostile-case.ts';
import { answersOf, assertExited, assertRefused } from './seen.ts';
import { attackSeparately } from './separate-service.ts';
import type { Target } from './target.ts';

const ENVIRONMENT = ['HOME', 'LANG', 'LOGNAME', 'MPLCONFIGDIR', 'PATH', 'PYTHONUNBUFFERED', 'TMPDIR', 'USER'];
/** The variables that bash sets by itself. */
const OF_BASH = ['PWD', 'SHLVL', '_'];

interface EnvironmentAnswers {
  readonly own: Readonly<Record<string, string>>;
  readonly processes: readonly (readonly string[])[];
}

export const processCases: readonly HostileCase[] = [
  {
    id: 'ESC-02',
    title: "a program's environment has eight fixed names, and no other process's environment has more",
    holds: 'a fixed list; the runtime itself is started with an empty environment',
    async scenario(target) {
      const programs = ['environment.py', 'environment.cjs', 'environment.sh'];
      for (const seen of await target.attackAll(programs.map((program) => ({ program })))) {
        assertExited(seen);
        const { own, processes } = answersOf<EnvironmentAnswers>(seen);
        assert.deepEqual(
          Object.keys(own)
            .filter((name) => !OF_BASH.includes(name))
            .toSorted(),
          ENVIRONMENT,
        );
        const names = processes.flatMap((variables) => variables.map((variable) => variable.split('=')[0]));
        assert.deepEqual(
          names.filter((name) => !ENVIRONMENT.includes(name as string)),
          [],
        );
        assert.ok(!seen.stdout.includes(target.canary));
      }
    },
  },
  {
    id: 'ESC-03',
    title: 'descriptors that the service leaks, on / and on /etc/shadow, are not open in a cell',
    holds: 'crun and runsc close all descriptors but 0, 1 and 2',
    needsRoot: true,
    async scenario({ hostileClass }) {
      const seen = await attackSeparately(
        hostileClass,
        { program: 'descriptors.py' },
        { leaked: ['/', '/etc/shadow'] },
      );
      const { kinds } = answersOf<{ kinds: Record<string, string> }>(seen);
      assert.deepEqual(kinds, { 0: 'pipe', 1: 'pipe', 2: 'pipe' });
    },
  },
  {
    id: 'ESC-13',
    title: 'process 1 cannot be signalled, read, written or limited, and no other process can report in its name',
    holds: 'process 1 is another user; its report is where no program may write',
    accepted: {
      gvisor:
        'the environment, memory map and descriptors of process 1 can be read (they hold nothing), and its priority can be set, which changes nothing',
    },
    ofOneUser: 'signals to process 1 are accepted, and do nothing',
    attack: { program: 'process-one.py' },
    expect: assertProcessOneUntouched,
  },
  {
    id: 'ESC-13',
    title: 'a program that kills everything it may ends alone, and its real ending is reported',
    holds: 'process 1 is another user',
    attack: { program: 'kill-all.py' },
    expect(seen) {
      assert.deepEqual(seen.ending, { kind: 'signaled', signal: 'SIGKILL' });
      assert.equal(seen.stdout, 'killing\n');
    },
  },
  {
    id: 'ESC-13',
    title: 'a program that sends itself the signal of a limit does not count as having reached it',
    holds: 'counters decide how a job ended, not signals',
    async scenario(target) {
      const signals = ['SIGXCPU', 'SIGKILL', 'SIGTERM'];
      const all = await target.attackAll(signals.map((SIGNAL) => ({ program: 'own-signal.py', values: { SIGNAL } })));
      assert.deepEqual(
        all.map(({ ending, violations }) => ({ ending, violations })),
        signals.map((signal) => ({ ending: { kind: 'signaled', signal }, violations: [] })),
      );
    },
  },
  {
    id: 'ESC-15',
    title: 'no setuid file of the system, and no copy of one, changes a program’s user',
    holds: 'no-new-privileges, nosuid and noexec mounts',
    attack: { program: 'setuid.py' },
    expect(seen) {
      assertExited(seen);
      const { found, ids, copies } = answersOf<{ found: string[]; ids: string[]; copies: Record<string, string[]> }>(
        seen,
      );
      assert.ok(found.length > 0, 'there is no setuid file to try');
      assert.deepEqual(
        ids.filter((id) => id !== '1000' && id !== 'EACCES'),
        [],
      );
      const { '/dev/shm': unstarted, ...started } = copies;
      assert.deepEqual(unstarted, ['EACCES']);
      assert.deepEqual(Object.keys(started), ['/work', '/tmp']);
      assert.ok(Object.values(started).every((copy) => copy.every((id) => id === '1000')));
    },
  },
  {
    id: 'ESC-27',
    title: 'the processes of every running job have host users of their own, which no user database lists',
    holds: 'two ids from a high range for each cell, mapped in a user namespace',
    ofOneUser: 'every process of every cell is the service’s user, in a user namespace of its own',
    alone: true,
    scenario: assertUsersOfTheirOwn,
  },
  {
    id: 'ESC-28',
    title: 'a program cannot type into the terminal in which the service was started',
    holds: 'its own session, pipes instead of a terminal, no /dev/pts of the host',
    async scenario({ hostileClass }) {
      const seen = await attackSeparately(hostileClass, { program: 'terminal.py' }, { inTerminal: true });
      assertExited(seen);
      assertRefused(answersOf(seen));
    },
  },
  {
    id: 'ESC-28',
    title: 'a terminal that a program made takes no other line discipline, and gets input only from its other end',
    holds: 'system call filter: no TIOCSETD, which loads code into the kernel, and no TIOCSTI',
    accepted: { gvisor: 'the terminals are those of gVisor’s own kernel' },
    attack: { program: 'own-terminal.py' },
    expect(seen, { hostileClass }) {
      assertExited(seen);
      const { size, ...answers } = answersOf<Record<string, string>>(seen);
      assert.equal(size, 'ok');
      if (hostileClass === 'namespace') assert.deepEqual(Object.values(answers), Array(4).fill('EPERM'));
      else assertRefused(answers);
    },
  },
  {
    id: 'ESC-36',
    title: 'standard input and output are pipes, which have no position, length or path',
    holds: 'pipes made for each cell; the runtime holds no file of the host open for the program',
    async scenario(target) {
      const held = await openInRuntime(target);
      const seen = await target.attack({ program: 'descriptors.py' });
      const { kinds, tricks } = answersOf<{ kinds: Record<string, string>; tricks: Record<string, string> }>(seen);
      assert.deepEqual(kinds, { 0: 'pipe', 1: 'pipe', 2: 'pipe' });
      assert.deepEqual(
        Object.values(tricks).filter((answer) => !['ESPIPE', 'EINVAL', 'ENOTDIR'].includes(answer)),
        [],
      );
      assert.ok(held.length > 0);
      assert.deepEqual(
        // In a forked cell, process 1 has closed the program's input and uses the cell's /dev/null instead.
        held.filter((target) => !target.startsWith('pipe:') && target !== '/dev/null'),
        [],
      );
    },
  },
];

/** The standard descriptors of a running cell's runtime, keyed by name. */
async function openInRuntime(target: Target): Promise<string[]> {
  const running = await target.start({ program: 'closed-output.py' });
  await running.said('closing');
  const members = groupMembers(target.dataDirectory, running.group);
  // A forked cell has no runtime, so this looks at process 1 of the cell. Its host user differs from the program's.
  const runtime = members.find((pid) => / run -/.test(commandOf(pid))) ?? Math.min(...members);
  const open = [0, 1, 2].map((number) => readlinkSync(`/proc/${runtime}/fd/${number}`));
  running.run.stop('cancelled');
  await running.seen;
  return open;
}

async function assertProcessOneUntouched(
  seen: Parameters<typeof answersOf>[0],
  { hostileClass, hasOneUser }: Target,
): Promise<void> {
  const { signals, pidfd_send_signal, tgkill, files, descriptors, priority, affinity, session, ...others } = answersOf<{
    signals: Record<string, number[]>;
    pidfd_send_signal: string;
    tgkill: string;
    files: { read: string[]; write?: string[] };
    descriptors: Record<string, string>;
    priority: string;
    affinity: string;
    session: string;
  }>(seen);
  assertExited(seen, 42);
  // If programs run as the service's user, the calls succeed, but a namespace's process 1 gets only signals that it handles.
  const answer = hasOneUser ? 'ok' : 'EPERM';
  assert.deepEqual(Object.keys(signals), [answer]);
  assert.equal(signals[answer]?.length, 64);
  if (hasOneUser) assert.deepEqual([pidfd_send_signal, tgkill], ['ok', 'ok']);
  else assertRefused({ pidfd_send_signal, tgkill });
  assert.equal(session, 'another');
  assertRefused(others);
  assert.deepEqual(files.write, undefined);
  const telling = ['auxv', 'environ', 'maps', 'smaps', 'mem', 'stack', 'syscall', 'pagemap', 'cwd', 'root', 'exe'];
  const readable = telling.filter((name) => files.read.includes(name));
  if (hostileClass === 'namespace') {
    assertRefused({ priority, affinity });
    // If programs run as the service's user, they can open `stack` and `syscall` but not read them, as ESC-01 shows.
    assert.deepEqual({ readable, descriptors }, { readable: hasOneUser ? ['stack', 'syscall'] : [], descriptors: {} });
    return;
  }
  assert.deepEqual(readable, ['auxv', 'environ', 'maps', 'smaps']);
  // Process 1 has the null device as its input, and the program's two pipes as its outputs.
  assert.deepEqual(
    Object.keys(descriptors).map((name) => Number(name.split(' ')[1])),
    [0, 0, 1, 1, 2, 2],
  );
  assert.deepEqual([...new Set(Object.values(descriptors))], ['/dev/null', 'host']);
}

/** How many cells run at the same time. If ids could repeat, some would repeat among so many cells. */
const CELLS = { namespace: 64, gvisor: 8 } as const;

async function assertUsersOfTheirOwn(target: Target): Promise<void> {
  const { hostileClass, provider, dataDirectory, hasOneUser } = target;
  const requests = Array.from({ length: CELLS[hostileClass] });
  const running = [];
  for (const _ of requests) running.push(await target.start({ program: 'wait.sh', stdin: '' }));
  try {
    const enough = hostileClass === 'namespace' && !hasOneUser ? 2 : 1;
    const users: string[][] = [];
    for (const { group } of running) users.push(await usersOf(() => groupMembers(dataDirectory, group), enough));
    if (hasOneUser) return assert.deepEqual([...new Set(users.flat())], ['0']);
    const known = new Set(
      readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .map((line) => line.split(':')[2]),
    );
    assert.equal(new Set(users.flat()).size, users.flat().length, 'a user is in two cells');
    assert.deepEqual(
      users.flat().filter((id) => known.has(id)),
      [],
    );
    assert.equal(provider.backend, hostileClass);
  } finally {
    for (const { run } of running) run.stop('cancelled');
    await Promise.all(running.map(({ seen }) => seen));
  }
}

/**
 * Host users of a cell's processes, without the cell's waiting parent, whose user is root. While a process executes
 * another program, it has no command line and is left out. So this reads again until there are enough users.
 */
async function usersOf(members: () => readonly number[], enough: number): Promise<string[]> {
  for (;;) {
    const own = members().filter((pid) => !/ run -|svc-sentry|^$/.test(commandOf(pid)));
    const users = [...new Set(own.flatMap((pid) => statusOf(pid, 'Uid').split(' ')))].filter((id) => id !== '');
    if (users.length >= enough) return users;
    await pause(10);
  }
}
