/** Real cells of the ordinary user `nobody`, to whom the host gives user namespaces and nothing else. */
import { execFileSync } from 'node:child_process';
import { chownSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestedLimits } from '@vouchbox/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { archiveOf } from '../../cell/archive.fixture.ts';
import type { Ending, HeldLimits, Posture } from '../../sandbox.ts';
import { enterProgram } from './apparmor.ts';

const USER = 65_534;
const FIXTURE = fileURLToPath(new URL('one-user-cells.fixture.ts', import.meta.url));

interface Given {
  readonly language?: string;
  readonly code: string;
  readonly limits?: Partial<RequestedLimits>;
  readonly libraries?: string;
}

interface Ended {
  readonly output: string;
  readonly ending: Ending;
  readonly usage: { readonly cpu_ms: number; readonly memory_peak_bytes: number | null };
  readonly violations: readonly { readonly type: string }[];
  readonly held: HeldLimits;
  readonly posture: Posture;
}

/** Runs programs at the same time, each in a cell of its own. */
function run(...programs: readonly Given[]): readonly Ended[] {
  return runOn('', ...programs);
}

/** Runs programs with the cells' directory on a tmpfs that has these options. Without options, no tmpfs is mounted. */
function runOn(options: string, ...programs: readonly Given[]): readonly Ended[] {
  const directory = mkdtempSync(join(tmpdir(), 'svc-one-user-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  chownSync(directory, USER, USER);
  const enter = join(directory, 'enter');
  copyFileSync(enterProgram(), enter);
  const given = JSON.stringify(programs.map((program) => ({ language: 'python', ...program })));
  const place = join(directory, 'place');
  mkdirSync(place, { mode: 0o777 });
  chownSync(place, USER, USER);
  const cells = [process.execPath, FIXTURE, join(place, 'cells'), given];
  const user = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', enter, '0', '0', '0', ...cells];
  const mount = `mount -t tmpfs -o mode=1777,${options} tmpfs ${place} && exec "$@"`;
  const within = options === '' ? [] : ['unshare', '--mount', 'sh', '-c', mount, 'sh'];
  const [command = '', ...words] = [...within, ...user];
  const said = execFileSync(command, words, { encoding: 'utf8', cwd: directory });
  expect(options === '' ? readdirSync(join(place, 'cells', 'cells')) : []).toEqual([]);
  return JSON.parse(said) as readonly Ended[];
}

const FILLING = `
import os, time
count = 1
try:
    while count < 64:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        count += 1
except BlockingIOError: pass
print(count, flush=True)
time.sleep(2)
`;

it('the receipt of a job in a cell with one user states that all limits except memory are enforced', {
  timeout: 60_000,
}, () => {
  const [ended] = run({ code: 'print(open("/proc/self/uid_map").read().split())' });
  expect(ended?.output).toBe("['1000', '0', '1']\n");
  expect(ended?.held.limit_enforcement).toEqual({
    wall_seconds: true,
    cpu_seconds: true,
    mem_mb: false,
    max_pids: true,
    max_file_mb: true,
  });
  expect(ended?.held.effective_limits).toMatchObject({ mem_mb: null, max_pids: 64 });
  expect(ended?.posture).toMatchObject({
    isolation_class: 'linux-shared-kernel',
    seccomp: 'filter',
    no_new_privileges: true,
    capabilities: '0',
    networking: 'disabled',
    private_rootfs: true,
    dedicated_bootstrap: true,
  });
});

/** For each limit, a program that tries to exceed it, and whether the program's end shows that the limit is held. */
const BEYOND = {
  wall_seconds: {
    code: 'import time; time.sleep(20)',
    value: 1,
    isHeld: ({ ending }: Ended) => ending.kind === 'wall_limit',
  },
  cpu_seconds: { code: 'while True: pass', value: 1, isHeld: ({ ending }: Ended) => ending.kind === 'cpu_limit' },
  // The buffers of sockets are kernel memory and are not among the pages of any process.
  mem_mb: {
    code: `
import socket
taken, pairs = 0, []
while taken < 80 << 20:
    pairs.append(socket.socketpair())
    pairs[-1][0].setblocking(False)
    try:
        while True: taken += pairs[-1][0].send(b'x' * 65536)
    except BlockingIOError: pass
`,
    value: 64,
    isHeld: ({ ending }: Ended) => ending.kind === 'memory_limit',
  },
  max_pids: { code: FILLING, value: 6, isHeld: ({ output }: Ended) => output === '6\n' },
  max_file_mb: {
    code: "open('/tmp/large', 'wb').write(b'x' * (3 << 20))",
    value: 2,
    isHeld: ({ output }: Ended) => output.includes('File too large'),
  },
} as const;

it('a limit of a cell with one user is enforced if and only if the receipt says so', { timeout: 60_000 }, () => {
  const tries = Object.entries(BEYOND);
  const ended = run(...tries.map(([name, { code, value }]) => ({ code, limits: { [name]: value } })));
  const found = Object.fromEntries(tries.map(([name, { isHeld }], at) => [name, isHeld(ended[at] as Ended)]));
  for (const { held } of ended) expect(held.limit_enforcement).toEqual(found);
});

it('a cell with one user is made even if its directory allows no execution, like /tmp on many hosts', {
  timeout: 60_000,
}, () => {
  const [ended] = runOn('noexec,nosuid,nodev,noatime', { code: 'print(6 * 7)' });
  expect(ended).toMatchObject({ ending: { kind: 'exited', exit_code: 0 }, output: '42\n' });
});

it('two cells with one user have separate process limits at the same time', { timeout: 60_000 }, () => {
  const ended = run({ code: FILLING, limits: { max_pids: 8 } }, { code: FILLING, limits: { max_pids: 5 } });
  expect(ended.map(({ output }) => output)).toEqual(['8\n', '5\n']);
});

it('processor time is limited for all processes of a cell with one user together, and is exact at the end', {
  timeout: 60_000,
}, () => {
  const [forking, counted] = run(
    {
      code: 'import os\nfor _ in range(3):\n    if os.fork() == 0:\n        while True: pass\nos.wait()',
      limits: { cpu_seconds: 1 },
    },
    {
      code: 'import os, time\nif os.fork() == 0:\n    while time.process_time() < 0.3: pass\n    os._exit(0)\nos.wait()',
    },
  );
  expect(forking?.ending).toEqual({ kind: 'cpu_limit' });
  expect(forking?.usage.cpu_ms).toBeGreaterThanOrEqual(1000);
  expect(counted?.usage.cpu_ms).toBeGreaterThanOrEqual(300);
  expect(counted?.usage.cpu_ms).toBeLessThan(1000);
});

it('processor time of children that nobody waits for is counted', { timeout: 60_000 }, () => {
  const [ended] = run({
    code: `
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        while time.process_time() < 0.4: pass
        os._exit(0)
    time.sleep(0.2)
`,
    limits: { cpu_seconds: 1, wall_seconds: 30 },
  });
  expect(ended?.ending).toEqual({ kind: 'cpu_limit' });
});

it('the memory of a cell with one user is watched instead of enforced, and the violation says so', {
  timeout: 60_000,
}, () => {
  const [ended] = run({
    code: 'import os, time\nfor _ in range(3): os.fork()\nheld = bytearray(b"x" * (20 << 20))\ntime.sleep(20)',
    limits: { mem_mb: 64, wall_seconds: 30 },
  });
  expect(ended?.ending).toEqual({ kind: 'memory_limit' });
  expect(ended?.violations).toEqual([{ type: 'memory', message: expect.stringContaining('it is only watched') }]);
  expect(ended?.usage.memory_peak_bytes).toBeNull();
});

it('memory that processes share is counted once', { timeout: 60_000 }, () => {
  const [ended] = run({
    code: 'import os, time\nheld = bytearray(b"x" * (40 << 20))\nfor _ in range(3): os.fork()\ntime.sleep(1)',
    limits: { mem_mb: 128 },
  });
  expect(ended?.ending).toEqual({ kind: 'exited', exit_code: 0 });
});

it('memory mapped as shared is counted, and calls that make memory without a mapping fail as unknown', {
  timeout: 60_000,
}, () => {
  const [mapped, unseen] = run(
    {
      code: 'import mmap, time\nheld = mmap.mmap(-1, 200 << 20)\nheld.write(b"x" * (200 << 20))\ntime.sleep(20)',
      limits: { mem_mb: 64, wall_seconds: 30 },
    },
    {
      code: `
import ctypes, os
try: os.memfd_create('x')
except OSError as error: print(error.strerror)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(0, 1 << 20, 0o1600), os.strerror(ctypes.get_errno()))
`,
    },
  );
  expect(mapped?.ending).toEqual({ kind: 'memory_limit' });
  expect(unseen?.output).toBe('Function not implemented\n-1 Function not implemented\n');
});

it('files that a program writes count once as its memory', { timeout: 60_000 }, () => {
  const filling = (after: string) => `
import mmap, time
for place in ('/tmp', '/dev/shm'):
    with open(f'{place}/filled', 'wb+') as file:
        file.write(b'x' * (15 << 20))
        file.flush()
        held = mmap.mmap(file.fileno(), 0)
        sum(held[at] for at in range(0, len(held), 4096))
${after}
`;
  const [filled, mapped] = run(
    { code: filling('time.sleep(20)'), limits: { mem_mb: 32, wall_seconds: 30, max_file_mb: 16 } },
    { code: filling('time.sleep(1)'), limits: { mem_mb: 64, wall_seconds: 30, max_file_mb: 16 } },
  );
  expect(filled?.ending).toEqual({ kind: 'memory_limit' });
  expect(mapped?.ending).toEqual({ kind: 'exited', exit_code: 0 });
});

it('a program cannot harm or read process 1, though both have the same user', { timeout: 60_000 }, () => {
  const [ended] = run({
    code: `
import ctypes, fcntl, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, attempt):
    try: attempt()
    except OSError as error: print(name, error.strerror)
    else: print(name, 'done')
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP): os.kill(1, number)
tried('limit', lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)))
tried('memory', lambda: open('/proc/1/mem', 'rb'))
tried('report', lambda: open('/proc/1/fd/26', 'w'))
tried('variables', lambda: open('/proc/1/environ'))
tried('cover', lambda: open('/svc/report/cover', 'w'))
tried('devices', lambda: os.unlink('/dev/null'))
tried('kernel', lambda: open('/proc/sys/kernel/hostname', 'w'))
tried('pipe', lambda: fcntl.fcntl(os.pipe()[1], 1031, 1 << 20))
print('trace', libc.ptrace(16, 1, 0, 0), 'users', libc.unshare(0x10000000))
tried('own', lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
`,
  });
  expect(ended?.output.trim().split('\n')).toEqual([
    'limit Operation not permitted',
    'memory Permission denied',
    'report Permission denied',
    'variables Permission denied',
    ...['cover', 'devices', 'kernel'].map((name) => `${name} Read-only file system`),
    'pipe Operation not permitted',
    'trace -1 users -1',
    'own done',
  ]);
  expect(ended?.ending).toEqual({ kind: 'exited', exit_code: 0 });
});

it('if a cell exhausts what the kernel grants its user, such as inotify instances, other cells keep their share', {
  timeout: 60_000,
}, () => {
  const taking = `
import ctypes, os, socket, time
libc = ctypes.CDLL(None)
def all_of(make):
    for made in range(64):
        if make() < 0: return made
    return 64
print(all_of(libc.inotify_init), flush=True)
time.sleep(2)
`;
  const outputs = run({ code: taking }, { code: taking }, { code: taking }).map(({ output }) => output);
  expect(outputs).toEqual(['16\n', '16\n', '16\n']);
});

it('libraries in a cell with one user are unpacked, and count as watched memory', { timeout: 60_000 }, () => {
  const small = archiveOf([{ name: 'tiny.py', content: 'NAME = "tiny"' }]).toString('base64');
  const large = archiveOf(
    Array.from({ length: 8 }, (_, n) => ({ name: `f${n}`, content: Buffer.alloc(10 * 2 ** 20) })),
  );
  const waiting = 'import time; time.sleep(30)';
  const limits = { mem_mb: 64, wall_seconds: 20 };
  const [one, other] = run(
    { code: 'import tiny; print(tiny.NAME)', libraries: small, limits },
    { code: waiting, libraries: large.toString('base64'), limits },
  );
  expect(one).toMatchObject({ output: 'tiny\n', ending: { kind: 'exited', exit_code: 0 } });
  expect(other).toMatchObject({ output: '', ending: { kind: 'memory_limit' } });
});
