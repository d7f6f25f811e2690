/** The promises that every provider makes, tried on each with real programs. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProviderChoice } from './classes/candidate.ts';
import { instanceName } from './kernel/host/run-directory.ts';
import { openProvider } from './prove/preflight.ts';
import type { Collection, HeldLimits, Posture, Program, Provider, StopCause } from './sandbox.ts';

interface Run extends Collection {
  readonly stdout: string;
  readonly stderr: string;
  readonly posture: Posture;
  readonly held: HeldLimits;
}

interface RunOptions extends Partial<Omit<Program, 'limits' | 'language' | 'code'>> {
  readonly limits?: Partial<Program['limits']>;
  /** Stops the program as soon as it has written this to stdout. */
  readonly stopAt?: { readonly text: string; readonly cause: StopCause };
}

const SANDBOXED = ['namespace', 'gvisor'] as const;
const EVERY = ['namespace', 'gvisor', 'subprocess'] as const;
const EXITED = { kind: 'exited', exit_code: 0 };
/** All of standard output as one large output, which is thrown away. */
const LARGE: NonNullable<Program['large']> = {
  paths: [],
  stdout: 'output/all',
  max_bytes: 2 ** 24,
  async keep(_, chunks) {
    let size_bytes = 0;
    for await (const chunk of chunks) size_bytes += chunk.byteLength;
    return { size_bytes, sha256: '' };
  },
};
const open = new Map<ProviderChoice, Provider>();
const dataDirectory = mkdtempSync(join(tmpdir(), 'svc-sandbox-test-'));

beforeAll(async () => {
  for (const choice of EVERY) {
    const options = { packsDirectory: null, workBytes: 96 * 1024 * 1024, hostPostureSha256: null };
    const { provider } = await openProvider({ choice, instance: join(dataDirectory, choice), ...options });
    open.set(choice, provider);
  }
});

afterAll(async () => {
  for (const provider of open.values()) await provider[Symbol.asyncDispose]();
  rmSync(dataDirectory, { recursive: true });
});

async function run(choice: ProviderChoice, language: Language, code: string, options: RunOptions = {}): Promise<Run> {
  const { limits, stopAt, ...rest } = options;
  await using cell = await (open.get(choice) as Provider).prepare({ language, runtime: null });
  const program = { language, code, stdin: null, args: [], env: {}, files: [], outputs: [], ...rest };
  const loaded = await cell.handOver({ ...program, limits: { ...LIMIT_DEFAULTS, ...limits } });
  const text = { stdout: '', stderr: '' };
  const running = loaded.release((stream, records) => {
    for (const record of records) text[stream] += outputText(record);
    if (stopAt !== undefined && text.stdout.includes(stopAt.text)) running.stop(stopAt.cause);
  });
  return { ...(await running.collect()), ...text, posture: loaded.posture, held: loaded.held };
}

describe.each(EVERY)('the %s provider', (choice) => {
  it('offers every language whose canary succeeded', { tags: ['What-2b', 'What-2c'] }, () => {
    expect(open.get(choice)?.languages).toEqual(['python', 'node', 'bash', 'typescript']);
  });

  it.each([
    ['python', 'import sys\nprint("out")\nprint("err", file=sys.stderr)\nsys.exit(3)'],
    ['node', 'console.log("out"); console.error("err"); process.exitCode = 3;'],
    ['bash', 'echo out; echo err > /dev/stderr; exit 3'],
  ] as const)('runs %s and gives back output and exit code', async (language, code) => {
    const { stdout, stderr, ending } = await run(choice, language, code);
    expect({ stdout, stderr, ending }).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      ending: { kind: 'exited', exit_code: 3 },
    });
  });

  it('gives a program its stdin, or end-of-file if it has none', async () => {
    expect((await run(choice, 'bash', 'cat', { stdin: 'a\nb' })).stdout).toBe('a\nb');
    expect((await run(choice, 'bash', 'cat; echo done')).stdout).toBe('done\n');
  });

  it('lets Python keep what it prints until a flush or its end, if all of standard output is one large output', async () => {
    const code = `import os\nprint(1)\nos.write(1, b'2\\n')\nprint(3, flush=True)\nos.write(1, b'4\\n')\nprint(5)`;
    const [kept, sent] = [await run(choice, 'python', code, { large: LARGE }), await run(choice, 'python', code)];
    expect([kept.stdout, sent.stdout]).toEqual(['2\n1\n3\n4\n5\n', '1\n2\n3\n4\n5\n']);
    const many = 'for number in range(200_000): print(number)';
    const { ending } = await run(choice, 'python', many, {
      large: LARGE,
      limits: { cpu_seconds: 2, wall_seconds: 20 },
    });
    expect(ending, 'two system calls for each line would take over 5 s in gVisor').toEqual(EXITED);
  });

  it('lets stdin, stdout and stderr be opened again by path', async () => {
    const code = 'cat /dev/stdin > /dev/stdout; echo e > /dev/stderr; echo f >> /proc/self/fd/2';
    expect(await run(choice, 'bash', code, { stdin: 'in\n' })).toMatchObject({ stdout: 'in\n', stderr: 'e\nf\n' });
  });

  it('passes files in and outputs out', async () => {
    const code = 'mkdir output/deep; cat input/a/b > output/deep/c; head -c 3 /dev/zero > output/zeros';
    const files = [{ path: 'input/a/b', content: Buffer.from('bytes') }];
    const { artifacts, violations } = await run(choice, 'bash', code, {
      files,
      outputs: ['output/deep/c', 'output/zeros'],
    });
    expect(
      artifacts.map(({ path, size_bytes, content }) => [path, size_bytes, Buffer.from(content).toString()]),
    ).toEqual([
      ['output/deep/c', 5, 'bytes'],
      ['output/zeros', 3, '\0\0\0'],
    ]);
    expect(artifacts[0]?.sha256).toBe(createHash('sha256').update('bytes').digest('hex'));
    expect(violations).toEqual([]);
  });

  it('names an output that was not written, and keeps the others', async () => {
    const { artifacts, violations } = await run(choice, 'bash', 'echo x > output/a', {
      outputs: ['output/missing', 'output/a'],
    });
    expect(artifacts.map(({ path }) => path)).toEqual(['output/a']);
    expect(violations).toMatchObject([{ type: 'output_missing', path: 'output/missing' }]);
  });

  it('never follows a link that a program left as its output', async () => {
    const code = 'ln -s /etc/passwd output/link; ln -s / output/root; mkfifo output/fifo';
    const outputs = ['output/link', 'output/root/etc/passwd', 'output/fifo'];
    const { artifacts, violations } = await run(choice, 'bash', code, { outputs });
    expect(artifacts).toEqual([]);
    expect(violations.map(({ path, type }) => [path, type])).toEqual([
      ['output/link', 'output_path'],
      ['output/root/etc/passwd', 'output_path'],
      // gVisor keeps special files to itself: on the host there is nothing of that name.
      ['output/fifo', choice === 'gvisor' ? 'output_missing' : 'output_kind'],
    ]);
  });

  it('runs Node source as CommonJS or as an ES module, as the source demands', async () => {
    const common =
      'console.log(typeof require, require.main === module, __filename.endsWith("main.cjs"), process.argv.length)';
    expect((await run(choice, 'node', common)).stdout).toBe('function true true 2\n');
    const module = 'import os from "node:os"; await 0; console.log(typeof os, import.meta.url.endsWith("main.mjs"))';
    expect((await run(choice, 'node', module)).stdout).toBe('object true\n');
  });

  it('shows a traceback with only the lines and the file of the program', async () => {
    const { stderr, ending } = await run(choice, 'python', 'def f():\n    raise ValueError("é")\nf()\n');
    expect(stderr.match(/File ".*\/(\S+)", line (\d+)/g)?.length).toBe(2);
    expect(stderr).toMatch(/^Traceback[\s\S]*main\.py", line 3, in <module>[\s\S]*ValueError: é\n$/);
    expect(ending).toEqual({ kind: 'exited', exit_code: 1 });
  });

  it('ends an interrupted program with SIGINT and one traceback', async () => {
    const code = 'import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint("not reached")\n';
    const { stdout, stderr, ending } = await run(choice, 'python', code);
    expect(ending).toEqual({ kind: 'signaled', signal: 'SIGINT' });
    expect(stderr).toMatch(/^Traceback \(most recent call last\):\n {2}File ".*\/main\.py", line [23]/);
    expect([stdout, stderr.match(/launch\.py/g), stderr.match(/Traceback/g)?.length]).toEqual(['', null, 1]);
    expect(stderr).toMatch(/\nKeyboardInterrupt\n$/);
  });

  it('runs a python program as __main__, with its own exit handlers and threads', async () => {
    const code = `import atexit, threading, sys, time
atexit.register(lambda: print("handler"))
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
print(__name__, sys.argv[0].endswith("/main.py"), __file__ == sys.argv[0])`;
    expect((await run(choice, 'python', code)).stdout).toBe('__main__ True True\nthread\nhandler\n');
  });

  it('distinguishes a program that a signal ended from one with an exit code above 127', async () => {
    expect((await run(choice, 'bash', 'kill -9 $$')).ending).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
    expect((await run(choice, 'bash', 'kill -TERM $$')).ending).toEqual({ kind: 'signaled', signal: 'SIGTERM' });
    expect((await run(choice, 'bash', 'kill -TERM 0; exit 3')).ending).toEqual({ kind: 'signaled', signal: 'SIGTERM' });
    // SIGRTMIN, a signal for which Node has no name.
    expect((await run(choice, 'bash', 'kill -34 $$')).ending).toEqual({ kind: 'signaled', signal: 'SIG34' });
    expect((await run(choice, 'bash', 'exit 137')).ending).toEqual({ kind: 'exited', exit_code: 137 });
  });

  it('ends a program at its wall limit, whatever signals it ignores', async () => {
    const code = 'trap "" TERM INT HUP QUIT; exec 1>&-; while :; do sleep 1; done';
    const { ending, violations } = await run(choice, 'bash', code, { limits: { wall_seconds: 0.3 } });
    expect(ending).toEqual({ kind: 'wall_limit' });
    expect(violations).toMatchObject([{ type: 'wall_time', limit: 0.3 }]);
  });

  it.each(['cancelled', 'server_shutdown'] as const)('ends a program stopped from outside: %s', async (cause) => {
    const { ending } = await run(choice, 'bash', 'echo up; sleep 100', { stopAt: { text: 'up', cause } });
    expect(ending).toEqual({ kind: 'stopped', cause });
  });

  it('ends a run when its program ends, even if children are left', async () => {
    const { ending, stdout } = await run(choice, 'bash', 'sleep 100 & echo left; exit 5');
    expect({ ending, stdout }).toEqual({ ending: { kind: 'exited', exit_code: 5 }, stdout: 'left\n' });
  });

  it('counts and hashes all bytes of a very long output', async () => {
    const { output } = await run(choice, 'bash', 'head -c 5000000 /dev/zero');
    expect(output.stdout).toMatchObject({ bytes_seen: 5_000_000, executor_truncated: true });
    expect(output.stdout.raw_sha256).toBe(createHash('sha256').update(Buffer.alloc(5_000_000)).digest('hex'));
  });

  it('gives a program only its fixed environment', async () => {
    process.env['SVC_TEST_SECRET'] = 'planted';
    const { stdout } = await run(choice, 'bash', 'env');
    delete process.env['SVC_TEST_SECRET'];
    const names = stdout.split('\n').map((line) => line.split('=')[0] as string);
    const given = new Set(names.filter((name) => !['PWD', 'SHLVL', '_', ''].includes(name)));
    const fixed = ['HOME', 'LANG', 'LOGNAME', 'MPLCONFIGDIR', 'PATH', 'PYTHONUNBUFFERED', 'TMPDIR', 'USER'];
    expect(given).toEqual(new Set(fixed));
  });
});

describe.each(SANDBOXED)('a cell of the %s provider', (choice) => {
  it('enforces all five limits, and reports the values that it read back from the kernel', {
    tags: ['Detail-8'],
  }, async () => {
    const limits = { wall_seconds: 3, cpu_seconds: 2, mem_mb: 100, max_pids: 20, max_file_mb: 2 };
    const { held } = await run(choice, 'bash', ':', { limits });
    expect(held.effective_limits).toEqual(limits);
    expect(Object.values(held.limit_enforcement)).toEqual([true, true, true, true, true]);
  });

  it('is observed before any job: no capabilities, no new privileges, a system call filter, no network', async () => {
    const { posture } = await run(choice, 'bash', ':');
    expect(posture).toMatchObject({
      bootstrap_ready: true,
      isolation_class: choice === 'gvisor' ? 'gvisor-application-kernel' : 'linux-shared-kernel',
      private_rootfs: true,
      dedicated_bootstrap: true,
      seccomp: 'filter',
      no_new_privileges: true,
      capabilities: '0',
      network_allowed: false,
      networking: 'disabled',
    });
  });

  it('reports a program that runs out of memory, even if the parent exits 0', async () => {
    const hog = 'a = []\nwhile True: a.append(bytearray(b"x" * (8 << 20)))';
    const alone = await run(choice, 'python', hog, { limits: { mem_mb: 64 } });
    expect(alone.ending).toEqual({ kind: 'memory_limit' });
    expect(alone.violations).toMatchObject([{ type: 'memory', limit: 64 }]);
    const child = `python3 -c '${hog}'; exit 0`;
    expect((await run(choice, 'bash', child, { limits: { mem_mb: 64 } })).ending).toEqual({ kind: 'memory_limit' });
  });

  it('reports a memory limit if even the interpreter needs more, and states the limit in force', async () => {
    const { ending, held, violations } = await run(choice, 'node', 'Buffer.alloc(1 << 28, 1)', {
      limits: { mem_mb: 1 },
    });
    expect(ending).toEqual({ kind: 'memory_limit' });
    expect(violations).toMatchObject([{ type: 'memory', limit: held.effective_limits.mem_mb }]);
  });

  it('enforces all five limits even if one is raised to the interpreter’s need, and reports the raised limit', async () => {
    const { held } = await run(choice, 'node', 'console.log(1)', { limits: { mem_mb: 1 } });
    expect(held.effective_limits).toEqual({ ...LIMIT_DEFAULTS, mem_mb: expect.any(Number) });
    expect(held.effective_limits.mem_mb).toBeGreaterThan(1);
    expect(Object.values(held.limit_enforcement)).toEqual([true, true, true, true, true]);
  });

  it('counts the CPU time of a whole tree of processes', async () => {
    const code = 'for i in 1 2 3 4; do (while :; do :; done) & done; wait';
    const { ending, violations } = await run(choice, 'bash', code, { limits: { cpu_seconds: 0.5 } });
    expect(ending).toEqual({ kind: 'cpu_limit' });
    expect(violations).toMatchObject([{ type: 'cpu_time', limit: 0.5 }]);
  });

  it('reports the usage of the program with its descendants, and who measured it', {
    tags: ['Receipt-30'],
  }, async () => {
    const code = `import os, time
def work():
    held = bytearray(b"x" * (48 << 20))
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
if os.fork() == 0:
    work()
    os._exit(0)
work()
os.wait()`;
    const { ending, usage, programUsage } = await run(choice, 'python', code);
    expect(ending).toEqual({ kind: 'exited', exit_code: 0 });
    expect(programUsage?.account).toBe(choice === 'gvisor' ? 'guest' : 'cell');
    // gVisor also counts time in which others had its processor, but never more time than the host's kernel counts.
    const least = choice === 'gvisor' ? Math.min(550, usage.cpu_ms ?? 0) : 550;
    expect(programUsage?.cpu_ms).toBeGreaterThanOrEqual(least);
    expect(programUsage?.cpu_ms).toBeLessThanOrEqual(usage.cpu_ms ?? 0);
    expect(programUsage?.wall_ms).toBeGreaterThan(250);
    expect(programUsage?.memory_peak_bytes).toBeGreaterThan(48 << 20);
  });

  it('reports the usage of a killed program if the host measures the usage, but not if only the guest could', {
    tags: ['Receipt-30a'],
  }, async () => {
    const { ending, usage, programUsage } = await run(choice, 'bash', 'while :; do :; done', {
      limits: { cpu_seconds: 0.2 },
    });
    expect(ending).toEqual({ kind: 'cpu_limit' });
    expect(programUsage).toEqual(choice === 'gvisor' ? undefined : { ...usage, account: 'cell' });
  });

  it('gives an ordinary error to a program that makes one process too many', async () => {
    const code = `import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except BlockingIOError:
    print(made)`;
    const { stdout, violations } = await run(choice, 'python', code, { limits: { max_pids: 8 } });
    expect(stdout).toBe('7\n');
    // gVisor's own kernel refuses the fork and counts no refusals, so there is no violation.
    expect(violations.map(({ type, limit }) => [type, limit])).toEqual(choice === 'namespace' ? [['pids', 8]] : []);
  });

  it('runs a program whose limit is one process', async () => {
    for (const [language, code] of [
      ['python', 'print(1)'],
      ['node', 'console.log(1)'],
      ['bash', 'echo 1'],
    ] as const) {
      const { ending, stdout, violations } = await run(choice, language, code, { limits: { max_pids: 1 } });
      expect({ ending, stdout, violations }).toEqual({
        ending: { kind: 'exited', exit_code: 0 },
        stdout: '1\n',
        violations: [],
      });
    }
  });

  it('stops a file from growing beyond its limit', async () => {
    const code = 'exec head -c 3000000 /dev/zero > big';
    const { ending, violations } = await run(choice, 'bash', code, { limits: { max_file_mb: 1 } });
    expect(ending).toEqual({ kind: 'signaled', signal: 'SIGXFSZ' });
    expect(violations).toMatchObject([{ type: 'file_size', limit: 1 }]);
  });

  it.each([
    [
      'a program that goes on',
      'python',
      "file = open('output/a', 'wb', 0)\nfile.write(bytes(1 << 20))\ntry: file.write(b'x'); assert 0\nexcept OSError: pass",
    ],
    ['a child that was ended', 'bash', 'head -c 3000000 /dev/zero > output/a; :'],
    ['a program that needed no more', 'bash', 'head -c 1048576 /dev/zero > output/a'],
  ] as const)('reports a file that reached its limit: %s', async (_name, language, code) => {
    const { ending, violations } = await run(choice, language, code, { limits: { max_file_mb: 1 } });
    expect(ending).toEqual({ kind: 'exited', exit_code: 0 });
    expect(violations).toEqual([
      { type: 'file_size', message: 'a file reached 1 MiB, the most that one may hold', limit: 1 },
    ]);
  });

  it('does not report a file that is one byte smaller than the limit', async () => {
    const code = 'head -c 1048575 /dev/zero > output/a; head -c 1048575 /dev/zero > output/b';
    const { violations } = await run(choice, 'bash', code, { limits: { max_file_mb: 1 } });
    expect(violations).toEqual([]);
  });

  it('keeps its inputs unchanged', async () => {
    const code = 'echo x > input/a; echo $?; rm -f input/a; mv input gone; cat input/a';
    const { stdout } = await run(choice, 'bash', code, { files: [{ path: 'input/a', content: Buffer.from('same') }] });
    expect(stdout).toBe('1\nsame');
  });
});

it('a disposed provider leaves no process, group or directory', async () => {
  const directory = join(dataDirectory, 'gone');
  const options = { packsDirectory: null, workBytes: 1 << 20, hostPostureSha256: null };
  const { provider } = await openProvider({ choice: 'namespace', instance: directory, ...options });
  const parked = await provider.prepare({ language: 'python', runtime: null });
  const cell = await provider.prepare({ language: 'bash', runtime: null });
  const loaded = await cell.handOver({
    language: 'bash',
    code: 'sleep 99',
    stdin: null,
    args: [],
    env: {},
    files: [],
    outputs: [],
    limits: LIMIT_DEFAULTS,
  });
  loaded.release(() => {});
  expect(parked.posture.bootstrap_ready).toBe(true);
  await provider[Symbol.asyncDispose]();
  const instance = instanceName(directory);
  expect(existsSync(`/run/svc/${instance}`)).toBe(false);
  expect(execFileSync('find', ['/sys/fs/cgroup', '-name', instance]).toString()).toBe('');
  expect(execFileSync('ps', ['-eo', 'args']).toString()).not.toContain(instance);
});
