/** The trials on a host: the command of each trial, and how the command's output shows whether the trial held. */
import { stripVTControlCharacters } from 'node:util';
import type { Outcome } from './outcome.ts';

/** How a command ended. */
export interface Ended {
  /** The exit code; the name of the signal that ended the trial; null if the trial did not end in time. */
  readonly code: number | string | null;
  readonly output: string;
}

export interface Trial {
  readonly id: string;
  readonly title: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The time limit on a usual emulated machine. On a slower machine, the limit is longer. */
  readonly secondsMax: number;
  /** True if the trial runs as root on every host, because it makes what the other trials need. */
  readonly needsRoot?: true;
  judge(ended: Ended): Outcome;
}

/** The time limits are high enough that a program runs out of memory first, even on an emulated host. */
const LIMITS = '--limit mem_mb=96 --limit wall_seconds=300 --limit cpu_seconds=120';
/** If one test hangs, its timeout leaves time for the others. The timeout for hooks depends on how slow the host is. */
const SLOWLY = ['--testTimeout=900000', '--maxConcurrency=1'];
/** One process, so that each module is loaded once. Node strips the types: Vite would spend a third of the run on it. */
const LEAN = ['--maxWorkers=1', '--experimental.viteModuleRunner=false'];
/** Attacks on control groups, namespaces, filters and limits. */
const HELD_BY_THE_KERNEL = [
  ...['ESC-06', 'ESC-07', 'ESC-08', 'ESC-10', 'ESC-16', 'ESC-17', 'ESC-26', 'ESC-33', 'ESC-37'],
  ...['RES-01', 'RES-03', 'RES-04', 'RES-05', 'RES-08', 'RES-11', 'RES-13', 'RES-15', 'RES-16', 'RES-19', 'RES-30'],
  ...['NEXT-01', 'NEXT-04'],
];
/** Leaves out the case that tests clocks with sixteen cells, because clocks are the same on every host. */
const NOT_A_CROWD = '^(?!.*every one of many spinning)';
/**
 * A gVisor cell takes half a minute here. On every host, its own kernel answers a program in the same way. So this selects
 * the cases in which the host limits the cell: memory, processes and time.
 */
const LIMITS_IN_GVISOR = `${NOT_A_CROWD}(?!the gvisor class.*(?:ESC-|RES-01|RES-03: a Node))`;
/** One case of each kind, for a host that is much like a host on which all cases were tried. */
const SHORTEST = ['ESC-07', 'ESC-26', 'ESC-37', 'RES-01', 'RES-03', 'RES-04', 'RES-11', 'RES-15'];
/** Attacks on those parts of a cell that are made differently for ordinary users: users, devices, mounts and groups. */
const MADE_FOR_A_USER = [...SHORTEST, 'ESC-06', 'ESC-08', 'ESC-10', 'ESC-15', 'ESC-33', 'RES-05'];
/** Gives commands the rights that `vouchbox` takes by itself: root in a user namespace with the user's subordinate ids. */
const ENTER = [`packages/server/native/${process.arch}/svc-enter`, '100000', '100000', '65536'];
/** Runs a command as an ordinary user without a group, subordinate ids or a home directory. */
const NOBODY = ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', 'env', 'HOME=/nonexistent'];
const NUMBER_FIX = 'sysctl -w user.max_user_namespaces=15000';
/** Gives commands the rights that `vouchbox` takes by itself for the user of `NOBODY`. The test runner writes into HOME. */
const ENTER_ALONE = [...NOBODY, 'HOME=/tmp', ...ENTER.slice(0, 1), '0', '0', '0'];
const SANDBOX = 'packages/server/src/sandbox';
const CONTRACT_TESTS = ['test/contract/outcomes.test.ts', 'test/contract/posture.test.ts'];
/** Tests of the limits in the contract, and of what a job's detail and receipt say about the job's cell. */
const LIMITS_AND_POSTURE = [
  ...['Submission-14', 'Submission-15', 'Submission-16', 'Submission-17', 'Submission-18'],
  ...['Detail-1', 'Detail-6', 'Receipt-1'],
];
/** The tests that depend on the kernel and the architecture. */
const SHORTEST_GROUP_TESTS = ['kernel/cgroup', 'classes/namespace/launcher.test.ts', 'kernel/seccomp'].map(
  (name) => `${SANDBOX}/${name}`,
);
/** Leaves out tests of gVisor's system calls and limits. These are the same on every host, and slowest in emulation. */
const NOT_OF_GVISOR = ['-t', '^(?!.*gvisor (class|program))'];
/** The tests of groups and launchers, but not those of `vouchbox doctor`, because the doctor has a trial of its own. */
const GROUP_TESTS = [
  ...['kernel/cgroup', 'kernel/seccomp', 'program/watch', 'classes/namespace', 'classes/gvisor'],
  ...['prove/doctor/host-posture', 'prove/doctor/probe'],
].map((name) => `${SANDBOX}/${name}`);

export const TRIALS: readonly Trial[] = [
  {
    id: 'facts',
    title: 'facts about the host',
    command: ['sh', '-c', factsScript()],
    secondsMax: 60,
    judge: ({ code, output }) => ({ held: code === 0, observed: output.trim().split('\n').join(', ') }),
  },
  {
    id: 'set-up',
    title: 'the set-up finds all that it needs, and compiles the programs that start cells',
    command: ['node', 'tools/setup.mjs'],
    secondsMax: 600,
    needsRoot: true,
    judge: ({ code, output }) => ({
      held: code === 0 && output.trim() === 'setup: built what starts cells',
      observed: lastLines(output, 4),
    }),
  },
  { id: 'doctor', title: '`vouchbox doctor`', command: ['vouchbox', 'doctor'], secondsMax: 600, judge: judgeDoctor },
  {
    id: 'quickstart',
    title: 'the quick start runs a program and checks the signature of its result',
    command: ['vouchbox', 'demo', '--once'],
    secondsMax: 300,
    judge: judgeQuickstart,
  },
  runTrial('namespace'),
  runTrial('gvisor'),
  sessionTrial(),
  testsTrial('contract', 'outcomes and posture over HTTP', CONTRACT_TESTS),
  testsTrial('outcomes', 'the limits of the contract, and the posture, over HTTP', [
    ...CONTRACT_TESTS,
    '--tagsFilter',
    LIMITS_AND_POSTURE.join(' or '),
  ]),
  testsTrial('groups-short', 'the tests of control groups, the launcher and filters', [
    ...SHORTEST_GROUP_TESTS,
    ...NOT_OF_GVISOR,
  ]),
  testsTrial('groups', 'the tests of control groups, the launcher, time limits and filters', [
    ...GROUP_TESTS,
    ...NOT_OF_GVISOR,
  ]),
  testsTrial('python-ends', 'a forked Python ends as an ordinary Python does', [
    `${SANDBOX}/cell/python-ends.test.ts`,
    ...['-t', 'that fork builds'],
  ]),
  hostileTrial('hostile-namespace', 'attacks on a namespace cell', ['namespace'], HELD_BY_THE_KERNEL),
  hostileTrial('hostile-gvisor', 'attacks on a gVisor cell', ['gvisor'], HELD_BY_THE_KERNEL),
  {
    id: 'alone',
    title:
      "`vouchbox run` of an ordinary user without extra rights shows a program's output, and ends a program that takes too much memory",
    command: ['sh', '-c', runScript(NOBODY.join(' '))],
    secondsMax: 900,
    needsRoot: true,
    judge: judgeRun,
  },
  {
    id: 'doctor-alone',
    title: '`vouchbox doctor` of an ordinary user without extra rights says that the namespace class isolates programs',
    command: [...NOBODY, 'vouchbox', 'doctor', '--data-dir', '/tmp/doctor-alone'],
    secondsMax: 600,
    needsRoot: true,
    judge: judgeUsersDoctor,
  },
  hostileAs('hostile-alone', 'attacks on a namespace cell of an ordinary user without extra rights', ENTER_ALONE),
  ...refusedTrials('', 'their own user namespaces', 'sysctl -w kernel.unprivileged_userns_clone=1'),
  ...refusedTrials('-by-number', 'any user namespace', NUMBER_FIX),
  {
    id: 'run-refused-root',
    title: '`vouchbox run` of root without any user namespace names the lack and runs nothing',
    command: ['sh', '-c', runScript()],
    secondsMax: 300,
    judge: judgeRefusal(NUMBER_FIX),
  },
  {
    id: 'many-users',
    title: 'three of many users, each with different rights, run programs at the same time and see the output',
    command: ['node', 'test/hosts/within/many-users.ts'],
    secondsMax: 2400,
    needsRoot: true,
    judge: ({ code, output }) => ({ held: code === 0, observed: lastLines(output, 3) }),
  },
  newcomersTrial(),
  ...(['podman', 'docker'] as const).flatMap(containerTrials),
  {
    id: 'doctor-here',
    title: '`vouchbox doctor` of this user says that programs are isolated',
    command: ['vouchbox', 'doctor'],
    secondsMax: 600,
    judge: judgeUsersDoctor,
  },
  {
    id: 'run-here',
    title: "`vouchbox run` of this user shows a program's output, and ends a program that takes too much memory",
    command: ['sh', '-c', runScript()],
    secondsMax: 600,
    judge: judgeRun,
  },
  {
    id: 'doctor-user',
    title: '`vouchbox doctor` of an ordinary user says that the namespace class isolates programs',
    command: ['vouchbox', 'doctor'],
    env: { SERVICE_DATA_DIR: '/var/lib/vouchbox' },
    secondsMax: 600,
    judge: judgeUsersDoctor,
  },
  hostileAs('hostile-user', 'attacks on a namespace cell of an ordinary user', ENTER),
  {
    id: 'crossings-user',
    title: 'the features of a job in cells of an ordinary user, as in `npm run crossings`',
    command: ['node', 'test/crossings/crossings.ts', '--only', 'ordinary-user', '--at-once', '2'],
    secondsMax: 1200,
    judge: judgeCrossings,
  },
  hostileTrial('limits', 'the shortest attacks on both classes', ['namespace', 'gvisor'], SHORTEST, LIMITS_IN_GVISOR),
  hostileTrial('limits-gvisor', 'the shortest attacks on a gVisor cell', ['gvisor'], SHORTEST, LIMITS_IN_GVISOR),
  hostileTrial('limits-namespace', 'the shortest attacks on a namespace cell', ['namespace'], SHORTEST),
  {
    id: 'service',
    title: 'the unit itself starts, runs jobs of both classes, and leaves nothing behind when it stops',
    command: ['node', 'test/hosts/within/service.ts'],
    secondsMax: 600,
    needsRoot: true,
    judge: ({ code, output }) => ({ held: code === 0, observed: lastLines(output, 6) }),
  },
  {
    id: 'service-user',
    title: 'the unit of an ordinary user itself starts, runs jobs, and leaves nothing behind when it stops',
    command: ['node', 'test/hosts/within/service.ts', 'user'],
    secondsMax: 600,
    needsRoot: true,
    judge: ({ code, output }) => ({ held: code === 0, observed: lastLines(output, 6) }),
  },
];

function factsScript(): string {
  return [
    '. /etc/os-release; echo "$PRETTY_NAME"; uname -sr; uname -m; nproc | sed "s/$/ cores/; s/^1 cores$/1 core/"',
    "awk '/MemTotal/ { print int($2 / 1024) \" MiB\" }' /proc/meminfo; stat -fc 'cgroup %T' /sys/fs/cgroup",
    'systemctl --version | head -n 1 | cut -d" " -f1,2; crun --version | head -n 1; runsc --version | head -n 1',
    'python3 --version; perl -e \'print "perl $^V\\n"\'; node --version | sed "s/^/node /"',
    'echo "memory.peak: $(test -e /sys/fs/cgroup/system.slice/memory.peak && echo yes || echo no)"',
  ].join('; ');
}

/** Runs one program in a class. It prints a line and then takes too much memory, so one service start tests both effects. */
function runTrial(provider: 'namespace' | 'gvisor'): Trial {
  return {
    id: `run-${provider}`,
    title: `\`vouchbox run\` in the class of ${provider} shows a program's output, and ends a program that takes too much memory`,
    command: ['sh', '-c', runScript()],
    env: { SERVICE_PROVIDER: provider },
    secondsMax: 900,
    judge: judgeRun,
  };
}

/** A trial by an ordinary user with a user manager, in the unit that the doctor suggests to users without a group. */
function sessionTrial(): Trial {
  const asUser = 'setpriv --reuid=vouchbox --regid=vouchbox --init-groups env XDG_RUNTIME_DIR=/run/user/$user';
  const unit = 'systemd-run --user --quiet --wait --pipe --property=Delegate=yes --working-directory=/opt/vouchbox';
  const values = '--setenv=PATH="$PATH" --setenv=SERVICE_PROVIDER=namespace';
  const start = 'user=$(id -u vouchbox); systemctl start "user@$user.service"';
  return {
    id: 'run-session',
    title: '`vouchbox run` of an ordinary user in `systemd-run --user` with `Delegate=yes`: the same',
    command: ['sh', '-c', `${start}; ${runScript(`${asUser} ${unit} ${values}`)}`],
    secondsMax: 900,
    needsRoot: true,
    judge: judgeRun,
  };
}

/** @param before words of a command that starts the trial's own command */
function runScript(before = ''): string {
  const program = `import os; print('hello from', os.uname().machine, flush=True); x = bytearray(400 << 20)`;
  return `${before} vouchbox run --language python ${LIMITS} --json - <<'END'\n${program}\nEND\ntrue`;
}

function judgeRun({ output }: Ended): Outcome {
  const [, status] = /"status": "(\w+)"/.exec(output) ?? [];
  const isHeard = output.includes('hello from');
  const observed = status === undefined ? lastLines(output, 6) : `${isHeard ? 'heard' : 'not heard'}; ${status}`;
  return { held: isHeard && status === 'oom_killed', observed };
}

/** @param titles a pattern that the titles of the cases must match as well */
function hostileTrial(
  id: string,
  title: string,
  classes: readonly string[],
  ids: readonly string[],
  titles = NOT_A_CROWD,
): Trial {
  const files = classes.map((name) => `test/hostile/${name}.test.ts`);
  return testsTrial(id, title, [...files, '--tagsFilter', ids.join(' or '), '-t', titles]);
}

/** Two trials whose command must fail and say what is missing: `vouchbox doctor`, and a command that would run a program. */
function refusedTrials(id: string, lacks: string, fix: string): readonly Trial[] {
  const asNobody = { env: { HOME: '/nonexistent' }, secondsMax: 300, needsRoot: true } as const;
  return [
    {
      ...asNobody,
      id: `refused${id}`,
      title: `\`vouchbox doctor\` of an ordinary user without ${lacks} names the lack`,
      command: [...NOBODY, 'vouchbox', 'doctor'],
      judge({ code, output }) {
        const lines = stripVTControlCharacters(output).split('\n');
        const at = lines.findIndex((line) => line.startsWith('fail  this process is root'));
        const said = `${lines[at] ?? ''} ${lines[at + 1] ?? ''}`.replace(/ +/g, ' ');
        return { held: code === 1 && said.includes(fix), observed: at >= 0 ? said : lastLines(output, 6) };
      },
    },
    {
      ...asNobody,
      id: `run-refused${id}`,
      title: `\`vouchbox run\` of an ordinary user without ${lacks} names the lack and runs nothing`,
      command: ['sh', '-c', runScript(NOBODY.join(' '))],
      judge: judgeRefusal(fix),
    },
  ];
}

function judgeRefusal(fix: string): Trial['judge'] {
  return ({ output }) => ({
    held: output.includes(fix) && !output.includes('hello from'),
    observed: lastLines(output, 2),
  });
}

/** The two commands with which an ordinary user begins in an empty folder. They install from this machine's npm store. */
function newcomersTrial(): Trial {
  const [home, given] = ['/home/newcomer', '/home/newcomer/given'];
  const prepare = [
    'useradd --create-home newcomer',
    `cp -r /opt/vouchbox/newcomer ${given}; mkdir ${home}/first; mv ${given}/.npmrc ${home}; chown -R newcomer: ${home}`,
  ];
  const user = `setpriv --reuid=newcomer --regid=newcomer --clear-groups env -i PATH=/usr/bin:/bin HOME=${home}`;
  const commands = [
    `cd ${home}/first; echo 'print(6 * 7)' > a.py`,
    `npm install --offline --no-audit --no-fund --loglevel=error --cache ${given}/npm ${given}/*.tgz`,
    'npx --no vouchbox run a.py',
  ];
  return {
    id: 'newcomer',
    title:
      "`npm install` of the packages and `npx vouchbox run a.py` of an ordinary user with Debian's Node: the program is heard",
    command: ['sh', '-ec', `${prepare.join('; ')}; exec ${user} sh -ec "$0"`, commands.join('; ')],
    secondsMax: 1200,
    needsRoot: true,
    judge: ({ code, output }) => ({ held: code === 0 && /^42$/m.test(output), observed: lastLines(output, 3) }),
  };
}

/** Trials of the image that this machine got, in an ordinary user's Podman or in Docker. */
function containerTrials(engine: 'podman' | 'docker'): readonly Trial[] {
  const name = { podman: "an ordinary user's Podman", docker: 'Docker' }[engine];
  const titles = {
    bare: `the image in ${name} without any extra rights: the start names what is missing`,
    user: `the image in ${name} with the rights of a user without a capability: a job of each kind`,
  };
  return (['bare', 'user'] as const).map((way) => ({
    id: `${engine}-${way}`,
    title: titles[way],
    command: ['node', 'test/hosts/within/containers.ts', engine, way],
    secondsMax: 2400,
    needsRoot: true,
    judge: ({ code, output }) => ({ held: code === 0, observed: lastLines(output, 3) }),
  }));
}

/** A hostile trial as another user. The command begins with `words`, which switch to this user. */
function hostileAs(id: string, title: string, words: readonly string[]): Trial {
  const trial = hostileTrial(id, title, ['namespace'], MADE_FOR_A_USER);
  const vitest = ['/opt/vouchbox/node_modules/.bin/node', 'node_modules/.bin/vitest', ...trial.command.slice(1)];
  return { ...trial, command: [...words, ...vitest] };
}

function testsTrial(id: string, title: string, words: readonly string[]): Trial {
  return { id, title, command: ['vitest', 'run', ...SLOWLY, ...LEAN, ...words], secondsMax: 1500, judge: judgeTests };
}

function judgeDoctor({ code, output }: Ended): Outcome {
  const lines = stripVTControlCharacters(output).split('\n');
  const counts = lines.find((line) => /^\d+ passed/.test(line)) ?? 'no result';
  const notable = lines.filter((line) => /^(fail|warn) /.test(line)).map((line) => line.replace(/ +/g, ' '));
  // The trial does not hold on a host that runs programs in only one class.
  const classes = lines.find((line) => line.startsWith('gvisor: ')) ?? '';
  const held = code === 0 && !notable.some((line) => line.startsWith('fail')) && !classes.includes('nothing runs');
  return { held, observed: [counts, ...notable].join('; ') };
}

/** Judges the doctor's output for an ordinary user. Such a user has no gVisor cells, because these need the host's root. */
function judgeUsersDoctor({ code, output }: Ended): Outcome {
  const lines = stripVTControlCharacters(output).split('\n');
  const { observed } = judgeDoctor({ code, output });
  const notable = lines.filter((line) => /^fail /.test(line) && !/^fail +(gvisor|runsc)/.test(line));
  const runs = lines.some((line) => line.endsWith('namespace: python, node, bash, typescript'));
  return { held: code === 0 && notable.length === 0 && runs, observed };
}

function judgeQuickstart({ code, output }: Ended): Outcome {
  const [, isolation] = /Isolation: (\S+)\./.exec(output) ?? [];
  const held = code === 0 && isolation !== undefined;
  return { held, observed: held ? `succeeded in ${isolation}, verified` : lastLines(output, 6) };
}

function judgeTests({ code, output }: Ended): Outcome {
  const text = stripVTControlCharacters(output);
  const [, passed = '0', failed = '?'] = /^(\d+) passed, (\d+) failed$/m.exec(text) ?? [];
  const names = new Set(
    [...text.matchAll(/^ *FAIL +(?:\|?\w+\|? +)?(.*)$/gm)].map(([, name = '']) => name.split(' > ').at(-1)),
  );
  const held = code === 0 && failed === '0' && passed !== '0';
  return { held, observed: [`${passed} passed, ${failed} failed`, ...names].join('; ') };
}

function judgeCrossings({ code, output }: Ended): Outcome {
  const lines = stripVTControlCharacters(output).split('\n');
  const count = lines.find((line) => / cells hold, in /.test(line));
  const missed = lines.filter((line, index) => line.startsWith('✗') || lines[index - 1]?.startsWith('✗'));
  const said = count?.replace(/, in .*/, '') ?? lastLines(output, 6);
  return { held: code === 0 && missed.length === 0, observed: [said, ...missed.map((line) => line.trim())].join('; ') };
}

function lastLines(text: string, count: number): string {
  return stripVTControlCharacters(text).trim().split('\n').slice(-count).join(' | ');
}
