/** Ways out of a cell through the kernel: its calls, its entries, its namespaces, its files. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupMembers, statusOf } from './host-groups.ts';
import type { Attack, HostileCase, HostileClass } from './hostile-case.ts';
import { answersOf, assertExited, assertRefused, isRefusal, violationTypes } from './seen.ts';
import { WORK_BYTES } from './target.ts';

type Answers = Readonly<Record<string, string>>;

/** The accepted answers from `reach.py` in this class. */
export function goldenReach(hostileClass: HostileClass): Answers {
  return JSON.parse(readFileSync(join(import.meta.dirname, `golden/reach-${hostileClass}.json`), 'utf8')) as Answers;
}

function reached(answers: Answers): string[] {
  return Object.keys(answers).filter((name) => !isRefusal(answers[name] as string));
}

function answersTo(answers: Answers, prefix: RegExp): Answers {
  return Object.fromEntries(Object.entries(answers).filter(([name]) => prefix.test(name)));
}

/** Answers that differ if a cell maps only one user. None of them lets the program do more. */
const OF_ONE_USER: Answers = {
  // The program has no capability and gains none.
  'call capset': 'EFAULT',
  'become: setuid 0': 'EINVAL',
  'become: setgid 0': 'EINVAL',
  'become: setresuid 0': 'EINVAL',
  'become: chown to 0': 'EINVAL',
  // `/proc/1/fd` shows only descriptors' numbers, which cannot be followed. `/svc/report` is an empty read-only directory.
  'read /proc/1/fd': 'ok',
  'read /svc/report': 'ok',
};

/** Files in /proc that programs need, for example for `free`, Node's `os.cpus()` and pool sizes. */
const TELLING: ReadonlySet<string> = new Set(
  'cpuinfo loadavg meminfo mounts stat uptime version'.split(' ').map((name) => `/proc/${name}`),
);

const THIRTY_TWO_BIT = 'thirty-two-bit.py';

/** The signal with which some virtual machines end a program that uses int 0x80. Null if the host's kernel answers. */
const hostEnding = (() => {
  let ending: NodeJS.Signals | null | undefined;
  return () => {
    if (process.arch !== 'x64') return null;
    if (ending === undefined)
      ending = spawnSync('python3', [join(import.meta.dirname, 'programs', THIRTY_TWO_BIT)]).signal;
    return ending;
  };
})();

/** A single run, whose answers several cases read. */
const REACH: Attack = {
  program: 'reach.py',
  files: [{ path: 'input/given', content: Buffer.from('given') }],
  runs: 'once',
};

export const kernelCases: readonly HostileCase[] = [
  {
    id: 'ESC-01',
    title: 'among all possible ways out, a program reaches exactly what was accepted before',
    holds: 'system call filter, namespaces, its own user, masked and read-only paths',
    accepted: {
      gvisor: "gVisor's own kernel answers; its /sys, /dev/ptmx and /proc/1 are its own, and touch no host",
    },
    ofOneUser: 'it sees the numbers of the descriptors of process 1, and an empty directory for its report',
    attack: REACH,
    expect(seen, { hostileClass, hasOneUser }) {
      assertExited(seen);
      const answers = answersOf<Answers>(seen);
      const ending = hostEnding();
      const ofHost: Answers = ending === null ? {} : { 'entry int 0x80': ending };
      const golden = { ...goldenReach(hostileClass), ...(hasOneUser ? OF_ONE_USER : {}), ...ofHost };
      if (hasOneUser) assert.deepEqual({ ...answers, ...OF_ONE_USER }, answers);
      assert.deepEqual(
        Object.keys(answers).toSorted(),
        Object.keys(golden).toSorted(),
        'the probe and its record differ',
      );
      const accepted = new Set(reached(golden));
      assert.deepEqual(
        reached(answers).filter((name) => !accepted.has(name)),
        [],
        'reached for the first time',
      );
      assert.ok(Object.keys(answers).length >= 180);
    },
  },
  {
    id: 'ESC-06',
    title: 'no file of the kernel opens for writing',
    holds: 'read-only /proc/sys, no /sys, masked paths, a user that owns nothing',
    attack: { program: 'kernel-files.py' },
    expect(seen) {
      assertExited(seen);
      assert.deepEqual(answersOf(seen), { opened: [] });
    },
  },
  {
    id: 'ESC-29',
    title: 'a program reads in /proc only what docs/THREATS.md lists about the host',
    holds: 'masked paths',
    classes: ['namespace'],
    attack: { program: 'proc-files.py' },
    expect(seen) {
      assertExited(seen);
      const { readable, works } = answersOf<{ readable: string[]; works: Record<string, number> }>(seen);
      const beside = readable.filter((path) => !path.startsWith('/proc/sys/'));
      assert.deepEqual(
        beside.filter((path) => !TELLING.has(path)),
        [],
      );
      assert.deepEqual(
        readable.filter((path) => /^\/proc\/sys\/.*((?<!max)-nr|-state|entropy_avail|\/nr)$/.test(path)),
        [],
        'a count of the whole host',
      );
      assert.ok(Object.values(works).every((number) => number > 0));
      assert.equal(works['disk'], WORK_BYTES, 'the size of a disk of the host');
    },
  },
  {
    id: 'ESC-07',
    title: 'no new namespace can be made or entered',
    holds: 'system call filter: clone without namespace flags, no clone3, unshare or setns',
    attack: REACH,
    expect(seen, { hostileClass }) {
      const answers = answersOf<Answers>(seen);
      const tried = answersTo(answers, /^(unshare|clone|clone3|call setns|call mount|call pivot_root|call chroot)\b/);
      assert.ok(Object.keys(tried).length >= 27);
      assertRefused(tried);
      assertRefused(answersTo(answers, /^clone3/));
      assert.ok(Object.entries(tried).every(([name, answer]) => !name.startsWith('clone3') || answer === 'ENOSYS'));
      if (hostileClass === 'namespace') assertRefused(answersTo(answers, /^open \/proc\/1\/ns/));
    },
  },
  {
    id: 'ESC-08',
    title: 'the 32-bit entries lead nowhere',
    holds: 'system call filter for one architecture',
    // Only x86-64 has these entries.
    architecture: 'x64',
    accepted: {
      gvisor: 'gVisor’s own kernel answers both as unknown system calls, and ends no program',
    },
    attack: REACH,
    expect(seen, { hostileClass }) {
      const answers = answersOf<Answers>(seen);
      const refusal = hostileClass === 'namespace' ? 'SIGSYS' : 'ENOSYS';
      assert.deepEqual([answers['entry int 0x80'], answers['entry x32']], [hostEnding() ?? refusal, refusal]);
    },
  },
  {
    id: 'ESC-10',
    title: 'of 46 socket families, by both calls that make sockets, only AF_UNIX exists',
    holds: 'system call filter',
    accepted: {
      gvisor: 'TCP and UDP of gVisor’s own network stack exist too; its only interface is its own lo',
    },
    attack: REACH,
    expect(seen, { hostileClass }) {
      const made = hostileClass === 'namespace' ? ['1'] : ['1', '2', '10'];
      const exist = ['socketpair family 1', ...made.map((family) => `socket family ${family}`)];
      const answers = Object.entries(answersTo(answersOf(seen), /^socket/));
      assert.equal(answers.length, 2 * 46 + 6);
      assert.deepEqual(
        answers
          .filter(([, answer]) => answer === 'ok')
          .map(([name]) => name)
          .toSorted(),
        exist.toSorted(),
      );
      assert.deepEqual(
        answers.filter(([name, answer]) => !exist.includes(name) && answer !== 'EPERM'),
        [],
      );
    },
  },
  {
    id: 'ESC-11',
    title: 'no key can be left in a keyring for the next job',
    holds: 'system call filter; no session keyring is shared',
    async scenario(target) {
      for (const seen of [
        await target.attack({ program: 'keyrings.py' }),
        await target.attack({ program: 'keyrings.py' }),
      ]) {
        assertExited(seen);
        assert.deepEqual(answersOf(seen), { answers: ['EPERM'] });
      }
    },
  },
  {
    id: 'ESC-12',
    title: 'a program that asks to be traced and stops is refused, and no process spins',
    holds: 'system call filter: no ptrace',
    attack: { program: 'traceme.py' },
    expect(seen) {
      assertExited(seen, 5);
      assert.equal(seen.stdout, 'refused\n');
      assert.ok(Number(seen.usage.cpu_ms) < 1000, `${seen.usage.cpu_ms} ms of CPU`);
    },
  },
  {
    id: 'ESC-33',
    title: 'a call through a closed entry ends the program with SIGSYS and is a violation',
    holds: 'system call filter, and process 1, which tells a signal from an exit code',
    architecture: 'x64',
    accepted: { gvisor: 'no entry is closed: gVisor answers int 0x80, and refuses the requested calls' },
    attack: { program: THIRTY_TWO_BIT },
    expect(seen, { hostileClass }) {
      const signal = hostEnding();
      if (signal !== null)
        return assert.deepEqual([seen.ending, seen.stdout], [{ kind: 'signaled', signal }, 'calling\n']);
      if (hostileClass === 'gvisor') return assert.equal(seen.stdout, 'calling\nanswered True\n');
      assert.deepEqual(seen.ending, { kind: 'signaled', signal: 'SIGSYS' });
      assert.deepEqual(violationTypes(seen), ['syscall']);
      assert.equal(seen.stdout, 'calling\n');
    },
  },
  {
    id: 'ESC-37',
    title: 'a program finds no control group to leave, and mounts none',
    holds: 'no cgroup mount inside, cgroup namespace, no mount(2)',
    attack: { program: 'cgroup-escape.py' },
    expect(seen) {
      assertExited(seen);
      const { paths, ...answers } = answersOf<{ paths: string[] }>(seen);
      assert.deepEqual(answers, { mounts: [], found: [], 'new v1': 'EPERM', 'new v2': 'EPERM' });
      assert.deepEqual(paths, ['/']);
    },
  },
  {
    id: 'ESC-26',
    title: 'a program has one user, one group, no capability and no way to gain any, also as seen from the host',
    holds: 'process 1 drops everything before it starts the interpreter; the cell is observed before it is used',
    async scenario(target) {
      const running = await target.start({ program: 'closed-output.py' });
      await running.said('closing');
      const members = groupMembers(target.dataDirectory, running.group).map((pid) => ({
        user: statusOf(pid, 'Uid'),
        held: ['CapEff', 'CapPrm', 'CapBnd', 'NoNewPrivs', 'Seccomp'].map((name) => statusOf(pid, name)),
      }));
      running.run.stop('cancelled');
      const [inside] = await Promise.all([target.attack({ program: 'privileges.py' }), running.seen]);
      if (target.hostileClass === 'namespace') {
        const nothing = ['0000000000000000', '0000000000000000', '0000000000000000', '1', '2'];
        assert.deepEqual(members.find(({ held }) => held[0] === nothing[0])?.held, nothing, 'as the host sees it');
      }
      const { status, ids, groups, umask } = answersOf<{
        status: Record<string, string[]>;
        ids: number[];
        groups: number[];
        umask: number;
      }>(inside);
      assert.deepEqual({ ids, groups, umask }, { ids: Array(6).fill(1000), groups: [], umask: 0o22 });
      const none = ['0000000000000000'];
      const capabilities = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => status[name] ?? none);
      assert.deepEqual(capabilities, Array(5).fill(none));
      assert.deepEqual(
        [status['Uid'], status['Gid'], status['Seccomp']],
        [Array(4).fill('1000'), Array(4).fill('1000'), ['2']],
      );
      assert.equal(inside.posture.no_new_privileges, true);
      assert.equal(inside.posture.capabilities, '0');
    },
  },
];
