/**
 * How jobs end, how clients tell the endings apart, and the five limits. No process of a program outlives its job.
 * Spec § Job submission, limits.
 */

import { totalmem } from 'node:os';
import type { LimitName, Violation } from '@vouchbox/protocol';
import { describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { type Ran, useRig } from '../rig/rig.ts';

const GIB = 2 ** 30;
const rig = useRig();
type Limits = Partial<Record<LimitName, number>>;
const python = (code: string, limits: Limits = {}) => rig().run({ language: 'python', code, limits });
const bash = (code: string, limits: Limits = {}) => rig().run({ language: 'bash', code, limits });
const node = (code: string, limits: Limits = {}) => rig().run({ language: 'node', code, limits });
const violations = ({ result }: Ran) => result.violations.map(({ type }) => type);

/** The outcome, on which the detail, the result, the receipt and the last event must all agree. */
function outcomeOf({ result, detail, events }: Ran) {
  const { status, exit_code, signal, terminal_reason, duration_ms } = detail;
  expect(result).toMatchObject({ status, exit_code, duration_ms });
  expect(detail.receipt).toMatchObject({ status, exit_code, signal, terminal_reason, duration_ms });
  expect(events.at(-1)).toMatchObject({
    kind: 'finished',
    data: { status, exit_code, signal, terminal_reason, duration_ms },
  });
  return { status, exit_code, signal, terminal_reason };
}
const exited = (exit_code: number) => ({
  status: exit_code === 0 ? 'succeeded' : 'failed',
  exit_code,
  signal: null,
  terminal_reason: 'exited',
});

describe('a program that ends by itself', () => {
  test.each([0, 1, 2, 124, 127, 134, 137, 139, 143, 255])(
    'with exit code %i is reported as exited with that code',
    { tags: ['Result-3', 'States-1c'] },
    async (code) => {
      expect(outcomeOf(await bash(`exit ${code}`))).toEqual(exited(code));
    },
  );

  test('with exit code 7 is reported as exited with 7 in Python and in Node', async () => {
    expect(outcomeOf(await python('raise SystemExit(7)'))).toEqual(exited(7));
    expect(outcomeOf(await node('process.exitCode = 7'))).toEqual(exited(7));
  });

  test.each([
    ['SIGABRT', 'import os; os.abort()'],
    ['SIGSEGV', 'import os; os.kill(os.getpid(), 11)'],
    ['SIGTERM', 'import os; os.kill(os.getpid(), 15)'],
    ['SIGKILL', 'import os; os.kill(os.getpid(), 9)'],
    ['SIGUSR1', 'import os; os.kill(os.getpid(), 10)'],
  ])(
    'by sending itself %s is reported as failed with that signal',
    { tags: ['Result-3', 'States-1c'] },
    async (signal, code) => {
      expect(outcomeOf(await python(code))).toEqual({
        status: 'failed',
        exit_code: null,
        signal,
        terminal_reason: 'signaled',
      });
    },
  );

  test('with an exception shows the exception on stderr', async () => {
    const ran = await python('raise ValueError("é")');
    expect(outcomeOf(ran)).toEqual(exited(1));
    expect(ran.result.stderr).toContain('ValueError: é');
  });
});

describe('wall_seconds', () => {
  test('ends a program that sleeps', { tags: ['Submission-14', 'Result-7', 'States-1d'] }, async () => {
    const ran = await bash('echo started; sleep 120; echo woke', { wall_seconds: 2 });
    expect(outcomeOf(ran)).toEqual({
      status: 'timed_out',
      exit_code: null,
      signal: null,
      terminal_reason: 'wall_limit',
    });
    expect(ran.result.stdout).toBe('started\n');
    expect(violations(ran)).toEqual(['wall_time']);
    expect(ran.detail.duration_ms).toBeGreaterThanOrEqual(2000);
    // The program must not have ended by itself. How soon it ends after the limit is measured elsewhere, on a quiet machine.
    expect(ran.detail.duration_ms).toBeLessThan(60_000);
  });

  test('ends a program that ignores every signal, and its children', async () => {
    const ran = await python(
      'import os, signal, time\nfor s in range(1, 65):\n  try: signal.signal(s, signal.SIG_IGN)\n  except (OSError, ValueError): pass\nos.fork()\ntime.sleep(60)',
      { wall_seconds: 0.5 },
    );
    expect(outcomeOf(ran)).toMatchObject({ status: 'timed_out', terminal_reason: 'wall_limit' });
  });

  slowTest('is the only limit that a program violates if it forks few processes at a time, however often', async () => {
    const loops = 'for i in 1 2 3 4; do while :; do /bin/true; done & done; wait';
    for (let round = 0; round < 8; round++) {
      expect(violations(await bash(loops, { wall_seconds: 0.2, max_pids: 64 }))).toEqual(['wall_time']);
    }
  });

  test('lets a program that finishes earlier exit normally', async () => {
    expect(outcomeOf(await bash('sleep 0.2', { wall_seconds: 60 }))).toEqual(exited(0));
  });
});

describe('cpu_seconds', () => {
  test('ends a program that computes, long before its wall limit', {
    tags: ['Submission-15', 'States-1d'],
  }, async () => {
    const ran = await python('while True: pass', { cpu_seconds: 0.5, wall_seconds: 30 });
    expect(outcomeOf(ran)).toMatchObject({ status: 'timed_out', terminal_reason: 'cpu_limit' });
    expect(violations(ran)).toEqual(['cpu_time']);
    expect(ran.detail.receipt?.resource_usage?.cpu_ms).toBeGreaterThanOrEqual(500);
  });

  test('sets a far higher limit in the kernel, because the kernel also counts ticks in which nothing ran', async () => {
    const ran = await python('import resource; print(resource.getrlimit(resource.RLIMIT_CPU))', { cpu_seconds: 2 });
    expect(ran.result.stdout).toBe('(9, 10)\n');
  });

  test('counts all processes of a job together, including those that have ended', {
    tags: ['Submission-15'],
  }, async () => {
    const code = `import os, time
while True:
    if os.fork() == 0:
        end = time.process_time() + 0.1
        while time.process_time() < end: pass
        os._exit(0)
    os.wait()`;
    const ran = await python(code, { cpu_seconds: 0.5, wall_seconds: 30 });
    expect(outcomeOf(ran)).toMatchObject({ status: 'timed_out', terminal_reason: 'cpu_limit' });
  });

  slowTest('does not count the time that a program sleeps', async () => {
    expect(outcomeOf(await bash('sleep 3', { cpu_seconds: 2 }))).toEqual(exited(0));
  });
});

describe('mem_mb', () => {
  /** These limits are high enough that memory runs out first, even on a slow host. */
  const ample = { cpu_seconds: 60, wall_seconds: 120 };
  const oomKilled = { status: 'oom_killed', exit_code: null, signal: null, terminal_reason: 'memory_limit' };

  test('ends a Python program that needs more memory', { tags: ['Submission-16', 'States-1e'] }, async () => {
    const ran = await python('data = bytearray(300 * 1024 * 1024)', { mem_mb: 64, ...ample });
    expect(outcomeOf(ran)).toEqual(oomKilled);
    expect(violations(ran)).toEqual(['memory']);
    // The peak may exceed the limit: the kernel also counts its own allocations, and those must not fail.
    expect(ran.detail.receipt?.resource_usage?.memory_peak_bytes).toBeLessThan(65 * 1024 * 1024);
  });

  test('ends a Node program that needs more memory', async () => {
    const ran = await node('const kept = []; for (;;) kept.push(Buffer.alloc(1 << 20, 1));', { mem_mb: 128, ...ample });
    expect(outcomeOf(ran)).toEqual(oomKilled);
  });

  test('ends a job whose child process needs more memory, even if the main process exits with 0', {
    tags: ['States-1e'],
  }, async () => {
    const code = `import os
if os.fork() == 0:
    data = bytearray(300 * 1024 * 1024)
    os._exit(0)
os.wait()`;
    expect(outcomeOf(await python(code, { mem_mb: 64, ...ample }))).toMatchObject({ status: 'oom_killed' });
  });

  test('counts files in /tmp and /dev/shm', { tags: ['Submission-16'] }, async () => {
    const ran = await python(
      "import os\nfor path in ('/tmp/a', '/dev/shm/a'):\n  try:\n    with open(path, 'wb') as f:\n      for _ in range(200): f.write(bytes(1 << 20))\n  except OSError as error: print(error.errno)\n",
      { mem_mb: 64, max_file_mb: 64, ...ample },
    );
    const peak = ran.detail.receipt?.resource_usage?.memory_peak_bytes ?? Number.POSITIVE_INFINITY;
    expect(peak).toBeLessThanOrEqual(64 * 1024 * 1024);
  });

  test('of 256 lets a program write 200 MiB', async () => {
    const ran = await python('data = b"x" * (200 * 1024 * 1024); print(len(data))', { mem_mb: 256, ...ample });
    expect(outcomeOf(ran)).toEqual(exited(0));
    expect(ran.detail.receipt?.resource_usage?.memory_peak_bytes).toBeGreaterThan(200 * 1024 * 1024);
  });

  test('counts used memory and leaves out reserved address space, such as numpy and V8 reserve', async () => {
    // Whatever the job's limit is, the host's kernel refuses a request for more memory than the host has.
    const reserved = Math.min(8 * GIB, Math.floor(totalmem() / 2));
    const ran = await python(`import mmap; m = mmap.mmap(-1, ${reserved}); m[0] = 1; print("ok")`, {
      mem_mb: 64,
      ...ample,
    });
    expect(outcomeOf(ran)).toEqual(exited(0));
    const heap = await node('console.log(new ArrayBuffer(200 << 20).byteLength)', { mem_mb: 128, ...ample });
    expect(heap.result).toMatchObject({ status: 'succeeded', stdout: `${200 << 20}\n` });
  });
});

describe('max_pids', () => {
  const forks = `import os, time
made = 0
try:
    for _ in range(200):
        if os.fork() == 0: time.sleep(30)
        made += 1
except OSError as error:
    print(made, error.errno)`;

  test('makes fork fail with an ordinary error in the program', { tags: ['Submission-17'] }, async () => {
    const ran = await python(forks, { max_pids: 16 });
    expect(outcomeOf(ran)).toEqual(exited(0));
    const [made, errno] = ran.result.stdout.trim().split(' ').map(Number);
    expect(errno).toBe(11);
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(16);
    expect(violations(ran)).toEqual(['pids']);
  });

  test('contains a fork bomb, and the bomb ends at its time limit', async () => {
    const ran = await bash('bomb() { bomb | bomb & }; bomb; sleep 60', { max_pids: 32, wall_seconds: 1 });
    expect(outcomeOf(ran)).toMatchObject({ status: 'timed_out' });
  });
});

describe('a limit that is too low for an interpreter to wait for its program', () => {
  test('is raised to what the interpreter needs, and only the record of the request keeps the requested value', {
    tags: ['Submission-26b'],
  }, async () => {
    // Each limit has its own job. In a job for both, memory might run out before a process is refused.
    const spawning = `require('node:child_process').spawn('/bin/true').on('error', () => {});`;
    await expectRaised({ max_pids: 1 }, spawning, ({ max_pids }) => ({
      type: 'pids',
      limit: max_pids,
      message: `a new process was refused: ${max_pids} may be alive at once`,
    }));
    await expectRaised({ max_pids: 1, mem_mb: 1 }, 'Buffer.alloc(1 << 28, 1);', ({ mem_mb }) => ({
      type: 'memory',
      limit: mem_mb,
      message: `more than ${mem_mb} MiB of memory were needed`,
    }));
  });

  /** Runs a job in Node that requests 1 for each of these limits and exceeds the last. */
  async function expectRaised(
    limits: Limits,
    code: string,
    breach: (inForce: Record<LimitName, number>) => Violation,
  ): Promise<void> {
    const { detail, events, result } = await node(code, limits);
    const { receipt, requested_spec, effective_spec, limit_enforcement } = detail;
    const inForce = effective_spec?.limits as Record<LimitName, number>;
    expect(requested_spec.limits).toMatchObject(limits);
    expect(receipt?.requested_limits).toMatchObject(limits);
    for (const name of Object.keys(limits) as LimitName[]) {
      expect(inForce[name]).toBeGreaterThan(1);
      expect(receipt?.limit_enforcement).toMatchObject({ [name]: true });
      expect(limit_enforcement).toMatchObject({ [name]: true });
    }
    expect(receipt?.effective_limits).toEqual(inForce);
    expect(events.find(({ kind }) => kind === 'started')?.data).toMatchObject({ limits: inForce });
    expect(result.violations).toMatchObject([breach(inForce)]);
    expect(receipt?.resource_usage?.memory_peak_bytes).toBeLessThanOrEqual(inForce.mem_mb * 2 ** 20);
  }
});

describe('max_file_mb', () => {
  test('refuses the first byte beyond the limit, reports a violation, and lets the program continue', {
    tags: ['Submission-18', 'Events-4h'],
  }, async () => {
    const code = `
with open('/work/output/a', 'wb') as file: file.write(bytes(1 << 20))
try:
    with open('/work/output/b', 'wb') as file:
        file.write(bytes(1 << 20))
        file.flush()
        file.write(b'x')
except OSError as error:
    print(error.errno)`;
    const ran = await python(code, { max_file_mb: 1 });
    expect(ran.result).toMatchObject({ status: 'succeeded', stdout: '27\n' });
    expect(violations(ran)).toEqual(['file_size']);
    expect(ran.events.filter(({ kind }) => kind === 'violation').map(({ data }) => data)).toEqual(
      ran.result.violations,
    );
  });

  test('does not apply to the job’s input files', { tags: ['Events-4h'] }, async () => {
    const ran = await rig().run({
      language: 'bash',
      code: `ls input\n#${'x'.repeat(2 ** 20 - 10)}`,
      limits: { max_file_mb: 1 },
      files: [{ path: 'input/a', content_base64: Buffer.alloc(2 ** 20).toString('base64') }],
    });
    expect(ran.detail.requested_spec.code).toHaveLength(2 ** 20);
    expect(ran.result).toMatchObject({ status: 'succeeded', stdout: 'a\n', violations: [] });
  });

  test('applies to the length of a sparse file', async () => {
    const ran = await python("open('/tmp/a', 'wb').truncate(1 << 40)", { max_file_mb: 1 });
    expect(ran.result).toMatchObject({ status: 'failed', exit_code: 1 });
    expect(ran.result.stderr).toContain('OSError');
  });
});

describe('a program that tries to outlive its job', () => {
  /** Expects that no process of this service with `mark` in its arguments is left on the host. */
  const expectGone = (mark: string) => {
    const left = leftoversOf(rig().dataDir).filter((line) => line.includes(mark));
    expect(left).toEqual([]);
  };

  test('with children in its process group is ended together with them', async () => {
    const ran = await bash('sleep 4711 & sleep 4711 & echo done');
    expect(outcomeOf(ran)).toEqual(exited(0));
    expect(ran.result.stdout).toBe('done\n');
    expectGone('4711');
  });

  test('is ended together with its daemons, even if they are in their own session and hold stdout open', async () => {
    const code = `import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(4712)
    os._exit(0)
os.wait()
print('done')`;
    const ran = await python(code, { wall_seconds: 120 });
    // Had the service waited for the daemons, the job would have reached its wall limit.
    expect(outcomeOf(ran)).toEqual(exited(0));
    expectGone('4712');
  });

  test('ends with an ordinary outcome even if it kills its parent and every process that it can reach', async () => {
    const ran = await bash('kill -9 $PPID; kill -9 1; kill -9 -1; echo alive', { wall_seconds: 5 });
    expect(['succeeded', 'failed', 'error', 'timed_out']).toContain(ran.detail.status);
    expect(ran.detail.terminal_reason).not.toBe('internal_error');
  });

  test('is ended by its wall limit if it sends itself SIGSTOP', async () => {
    const ran = await bash('kill -STOP $$', { wall_seconds: 1 });
    expect(['timed_out', 'succeeded']).toContain(ran.detail.status);
  });
});

test('the service runs the next job normally after programs that tried to outlive their jobs', async () => {
  expect((await bash('echo ok')).result.stdout).toBe('ok\n');
});
