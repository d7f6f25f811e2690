/** `vouchbox run` and `vouchbox jobs`: a program's output, files and exit code on the command line. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { Command, type CommandOptions, vouchbox } from '../rig/command.ts';
import { openFaultProxy } from '../rig/fault-proxy.ts';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-run-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

function program(name: string, code: string): string {
  writeFileSync(join(scratch, name), code);
  return name;
}

const toService = (): CommandOptions => ({
  cwd: scratch,
  env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key },
});
const run = (...words: string[]) => vouchbox(['run', ...words], toService());

/** The name of the first entry that appears in a directory. */
async function firstEntryOf(directory: string): Promise<string> {
  for await (const { filename } of watch(directory)) if (filename !== null) return filename;
  throw new Error(`nothing appeared in ${directory}`);
}

describe('vouchbox run', () => {
  test('passes on the program’s stdout, stderr and exit code unchanged', async () => {
    const file = program(
      'a.py',
      "import sys\nprint('é')\nsys.stdout.write('no newline')\nprint('err', file=sys.stderr)\nsys.exit(3)",
    );
    expect(await run(file)).toMatchObject({ code: 3, stdout: 'é\nno newline', stderr: 'err\n' });
  });

  test("escapes the program's output on a terminal, but passes on the exact bytes with --raw or to a pipe", {
    tags: ['OPER-05'],
  }, async () => {
    const file = program('escapes.sh', String.raw`printf 'a\033]0;title\007\302\233\342\200\256\n'`);
    const terminal = ['sh', '-c', 'exec script -qefc "$*" /dev/null', 'sh'];
    const onTerminal = (...words: string[]) => vouchbox(['run', file, ...words], { ...toService(), within: terminal });
    const bytes = 'a\u001b]0;title\u0007\u009b\u202e';
    expect((await onTerminal()).stdout).toContain('a\\u{1b}]0;title\\u{7}\\u{9b}\\u{202e}\r\n');
    expect((await onTerminal('--raw')).stdout).toContain(`${bytes}\r\n`);
    expect((await run(file)).stdout).toBe(`${bytes}\n`);
  });

  test('runs the program in the named language with stdin, files and limits, and fetches its outputs', {
    tags: ['What-1a'],
  }, async () => {
    program('data', 'from a file');
    const file = program(
      'b',
      'cat; cat input/data input/other; echo result > output/a; mkdir output/deep; echo deep > output/deep/b',
    );
    const ended = await run(
      file,
      '--language',
      'bash',
      '--stdin',
      'from stdin, ',
      '--file',
      'data',
      '--file',
      'input/other=data',
      '--output',
      'output/a=fetched',
      '--output',
      'output/deep/b',
      '--limit',
      'wall_seconds=5',
      '--limit',
      'mem_mb=64',
    );
    expect(ended).toMatchObject({ code: 0, stdout: 'from stdin, from a filefrom a file', stderr: '' });
    expect(readFileSync(join(scratch, 'fetched'), 'utf8')).toBe('result\n');
    expect(readFileSync(join(scratch, 'output/deep/b'), 'utf8')).toBe('deep\n');
  });

  test('reads the program from its own stdin if - stands for the program, and passes its stdin on with --stdin -', async () => {
    const code = { ...toService(), stdin: 'print(6 * 7)' };
    expect(await vouchbox(['run', '-', '--language', 'python'], code)).toMatchObject({ code: 0, stdout: '42\n' });
    const input = { ...toService(), stdin: 'piped' };
    expect(await vouchbox(['run', program('cat.sh', 'cat'), '--stdin', '-'], input)).toMatchObject({ stdout: 'piped' });
  });

  test('passes its own stdin to the program unless --stdin is given', async () => {
    const input = { ...toService(), stdin: 'piped' };
    const file = program('cat.sh', 'cat');
    expect(await vouchbox(['run', file], input)).toMatchObject({ code: 0, stdout: 'piped' });
    expect(await vouchbox(['run', file, '--stdin', ''], input)).toMatchObject({ code: 0, stdout: '' });
    const fromFile = { ...toService(), within: ['sh', '-c', 'exec "$@" < cat.sh', 'sh'] };
    expect(await vouchbox(['run', file], fromFile)).toMatchObject({ code: 0, stdout: 'cat' });
    const tooMuch = { ...toService(), within: ['sh', '-c', 'yes | exec "$@"', 'sh'] };
    expect(await vouchbox(['run', file], tooMuch)).toMatchObject({
      code: 2,
      stderr: 'vouchbox: stdin has more than 1048576 bytes; give large input with --file\n',
    });
  });

  slowTest('says that it waits for the end of stdin, and runs the program once stdin has ended', async () => {
    await using command = new Command(['run', program('cat.sh', 'cat')], { ...toService(), keepsInput: true });
    await command.complains(/^vouchbox: reading stdin to its end; --stdin '' gives the program none\n$/);
    command.endInput('late');
    expect(await command.ended()).toMatchObject({ code: 0, stdout: 'late' });
  });

  slowTest.each<[string, string, string[], number, RegExp]>([
    [
      'a time limit',
      'sleep 60',
      ['--limit', 'wall_seconds=0.3'],
      124,
      /^vouchbox: timed_out: the wall clock limit of 0\.3 s ended the program; --limit wall_seconds=N raises it, up to \d+\n$/,
    ],
    [
      'the memory limit',
      'x=$(head -c 200000000 /dev/zero | tr "\\0" x); echo "$x"',
      ['--limit', 'mem_mb=32'],
      137,
      /^vouchbox: oom_killed: the memory limit of 32 MiB ended the program; --limit mem_mb=N raises it, up to \d+\n$/,
    ],
    ['a signal', 'kill -SEGV $$', [], 139, /^vouchbox: failed: signaled \(SIGSEGV\)\n$/],
  ])('says when %s ended the program', async (_name, code, words, exitCode, stderr) => {
    const ended = await run(program('c.sh', code), ...words);
    expect(ended.code).toBe(exitCode);
    expect(ended.stderr).toMatch(stderr);
  });

  test('gives the program arguments and variables, and fetches every output into a directory', async () => {
    const file = program('words.sh', 'echo "$1" "$2" "$A" > output/a; mkdir output/d; echo deep > output/d/b');
    const ended = await run(file, '--env', 'A=b=c', '--output', 'output/**=all', '--', '--flag', 'two words');
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    expect(readFileSync(join(scratch, 'all/a'), 'utf8')).toBe('--flag two words b=c\n');
    expect(readFileSync(join(scratch, 'all/d/b'), 'utf8')).toBe('deep\n');
  });

  slowTest.each([
    ['lines', 'yes | head -n 10001', '10000 lines'],
    ['bytes', 'head -c 1048577 /dev/zero | tr "\\0" x', '1 MiB'],
  ])('says that the limit on %s truncated the output, and how to get all of it', async (_cap, code, remark) => {
    const file = program('long.sh', code);
    const recorded = `only its first ${remark} are recorded`;
    expect((await run(file)).stderr).toBe(
      `vouchbox: stdout is truncated: ${recorded}; --whole-stdout FILE takes all of it\n`,
    );
    expect((await run(file, '--whole-stdout', 'whole')).stderr).toBe(
      `vouchbox: stdout is truncated here: ${recorded}; all of it goes to whole\n`,
    );
    rmSync(join(scratch, 'whole'));
    expect((await run(program('errors.sh', `(${code}) >&2`))).stderr).toContain(
      `vouchbox: stderr is truncated: ${recorded}; write more to a file in output/\n`,
    );
  });

  test('refuses to write an output to a path that is a directory, before the program runs', async () => {
    mkdirSync(join(scratch, 'taken'));
    const file = program('touch.sh', 'touch output/a');
    for (const words of [
      ['--whole-stdout', 'taken'],
      ['--output', 'output/a=taken'],
      ['--large-output', 'output/a=taken'],
    ]) {
      const told = /^vouchbox: taken is a directory: name a file for output\/(a|stdout)\n$/;
      expect(await run(file, ...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(told) as string });
    }
  });

  test.each([
    ['output/**=plain', /^vouchbox: plain is not a directory, so plain cannot be written\n$/],
    ['output/a=plain/x', /^vouchbox: plain is not a directory, so plain\/x cannot be written\n$/],
    ['output/a=new/', /^vouchbox: new\/ is a directory: name a file for output\/a\n$/],
    ['output/a=', /^vouchbox: the file for output\/a has no name\n$/],
  ])('refuses --output %s before the program runs, because it cannot be written', async (output, told) => {
    writeFileSync(join(scratch, 'plain'), 'kept');
    const ended = await run(program('touch.sh', 'touch output/a'), '--output', output);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(told)]);
    expect(readFileSync(join(scratch, 'plain'), 'utf8')).toBe('kept');
  });

  test('names the option that allows a larger file if a file exceeds a limit', async () => {
    const file = program('grow.py', "open('output/a', 'wb').write(bytes(3 * 2 ** 20))");
    expect((await run(file, '--limit', 'max_file_mb=1')).stderr).toMatch(
      /^vouchbox: file_size: .*; --limit max_file_mb=N raises it, up to \d+$/m,
    );
    expect((await run(file, '--output', 'output/a')).stderr).toBe(
      'vouchbox: output_size: output/a is larger than 2 MiB; --large-output takes larger files\n',
    );
  });

  test('names an output that the program did not write, and exits with 1 unless --allow-missing is given', async () => {
    const file = program('d.sh', 'true');
    const words = [file, '--output', 'output/a=never'];
    const stderr = 'vouchbox: output_missing: output/a was not written\n';
    expect(await run(...words)).toMatchObject({ code: 1, stderr });
    expect(await run(...words, '--allow-missing')).toMatchObject({ code: 0, stderr });
    expect(existsSync(join(scratch, 'never'))).toBe(false);
    const none = await run(file, '--output', 'output/**');
    expect(none).toMatchObject({ code: 0, stderr: 'vouchbox: no file came back for output/**\n' });
  });

  slowTest('writes an output even if several requests for the result are cut off', async () => {
    // More requests are cut off than an ordinary call makes.
    const faults = [{ on: 'GET /v1/jobs/{id}/result', count: 6, fault: 'cut_request' }] as const;
    await using proxy = await openFaultProxy(rig().service.url, faults);
    const { env, ...more } = toService();
    const words = ['run', program('a.sh', 'echo whole > output/a'), '--output', 'output/a=borne'];
    const ended = await vouchbox(words, { ...more, env: { ...env, SERVICE_URL: proxy.url } });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(scratch, 'borne'), 'utf8')).toBe('whole\n');
  });

  test('names an output that is too large, and exits with 1 unless --allow-missing is given', async () => {
    const file = program('large.py', "open('output/large', 'wb').write(bytes(2 ** 21 + 1)); open('output/small', 'w')");
    const words = [file, '--output', 'output/**=lost'];
    const stderr = expect.stringMatching(
      /^vouchbox: output_size: output\/large is larger than 2 MiB; --large-output takes larger files\n$/,
    ) as string;
    expect(await run(...words)).toMatchObject({ code: 1, stderr });
    expect(existsSync(join(scratch, 'lost/small'))).toBe(true);
    expect(await run(...words, '--allow-missing')).toMatchObject({ code: 0, stderr });
  });

  test('names on stderr each limit that the service lowered; with --json, prints the limits in force', async () => {
    const file = program('limits.sh', 'true');
    const asked = ['--limit', 'mem_mb=99999', '--limit', 'wall_seconds=5'];
    const said = 'vouchbox: --limit mem_mb=99999 became 1024, the most that this service allows\n';
    expect(await run(file, ...asked)).toMatchObject({ code: 0, stderr: said });
    const { stdout, stderr } = await run(file, ...asked, '--json');
    expect(stderr).toBe(said);
    expect(JSON.parse(stdout)).toMatchObject({
      effective: { mem_mb: 1024, wall_seconds: 5 },
      isolation_class: 'linux-shared-kernel',
      networking: 'disabled',
      receipt_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  test('cancels its job if the reader of its output exits', async () => {
    const file = program('endless.sh', 'while true; do echo line; sleep 0.1; done');
    const within = ['sh', '-c', '"$@" | head -n 2', 'sh'];
    const words = ['run', file, '--limit', 'wall_seconds=300'];
    const { stdout, stderr } = await vouchbox(words, { ...toService(), within });
    expect([stdout, stderr]).toEqual(['line\nline\n', 'vouchbox: the job was cancelled\n']);
    expect((await rig().alpha.client.list({ limit: 1 })).items[0]?.status).toBe('cancelled');
  });

  test('if the program tried to use the network, says once that programs have no network', async () => {
    const code = 'for at in 1 2; do echo > /dev/tcp/192.0.2.1/80; done';
    const { stderr } = await run(program('n.sh', code));
    expect(stderr.split('\n').filter((line) => line.startsWith('vouchbox: '))).toEqual([
      'vouchbox: programs have no network: give them what they need with --file',
    ]);
  });

  test('prints only one JSON document on stdout with --json', async () => {
    const file = program('j.sh', 'echo out; echo err >&2; echo result > output/a');
    const { stdout, stderr } = await run(file, '--json', '--output', 'output/a=json-output');
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'succeeded',
      exit_code: 0,
      stdout: 'out\n',
      stderr: 'err\n',
      outputs: [{ path: 'output/a', file: 'json-output', size_bytes: 7 }],
      missing: [],
    });
    expect(stderr).toBe('');
  });

  test('shows output as it comes, and cancels its job when it is interrupted', async () => {
    const file = program('e.sh', 'echo first; sleep 300');
    await using command = new Command(['run', file, '--limit', 'wall_seconds=300'], toService());
    await command.shows(/^first\n/);
    command.kill('SIGINT');
    const { code, stderr } = await command.ended();
    expect([code, stderr]).toEqual([130, 'vouchbox: the job was cancelled\n']);
    expect((await rig().alpha.client.list({ limit: 1 })).items[0]?.status).toBe('cancelled');
  });

  slowTest('ends soon after an interrupt if the service is away, and names the job that may still run', async () => {
    const on = 'DELETE /v1/jobs/{id}';
    await using proxy = await openFaultProxy(rig().service.url, [{ on, fault: 'cut_request', count: 99 }]);
    const { env, ...more } = toService();
    const words = ['run', program('away.sh', 'echo first; sleep 300'), '--limit', 'wall_seconds=300'];
    await using command = new Command(words, { ...more, env: { ...env, SERVICE_URL: proxy.url } });
    await command.shows(/^first\n/);
    command.kill('SIGINT');
    const { code, stderr } = await command.ended();
    const { client } = rig().alpha;
    const job = (await client.list({ limit: 1 })).items[0]?.job_id ?? '';
    expect([code, stderr]).toEqual([125, expect.stringContaining(`vouchbox jobs cancel ${job}\n`)]);
    expect((await client.cancel(job)).already_terminal).toBe(false);
  });

  slowTest('ends soon after an interrupt even while it reads a large output', async () => {
    const content = 'x'.repeat(2_000_000);
    const digest = createHash('sha256').update(content).digest('hex');
    const read = { on: `GET /v1/blobs/sha256/${digest}`, fault: 'hold_answer' } as const;
    const cancel = { on: 'DELETE /v1/jobs/{id}', fault: 'cut_request', count: 99 } as const;
    await using proxy = await openFaultProxy(rig().service.url, [read, cancel]);
    const { env, ...more } = toService();
    const words = ['run', program('large.py', `open('output/x', 'w').write('${content[0]}' * ${content.length})`)];
    words.push('--large-output', 'output/x');
    await using command = new Command(words, { ...more, env: { ...env, SERVICE_URL: proxy.url } });
    proxy.onHeld = () => command.kill('SIGINT');
    const { code, stderr } = await command.ended();
    expect([code, stderr]).toEqual([125, expect.stringContaining('vouchbox jobs cancel job_')]);
    expect(existsSync(join(scratch, 'output/x'))).toBe(false);
  });

  slowTest.each([
    ['cancels its job', 'interrupted before the service had answered', 0],
    ['says that the program may run if the service is then away', 'the program may run all the same, because', 99],
  ])('if it is interrupted before its submission is answered, %s', async (_what, said, count) => {
    const on = 'POST /v1/jobs';
    const faults = [{ on, fault: 'hold_answer' } as const, { on, fault: 'cut_request', count } as const];
    await using proxy = await openFaultProxy(rig().service.url, faults);
    const { env, ...more } = toService();
    const words = ['run', program('unanswered.sh', 'sleep 300'), '--limit', 'wall_seconds=300'];
    await using command = new Command(words, { ...more, env: { ...env, SERVICE_URL: proxy.url } });
    proxy.onHeld = () => command.kill('SIGINT');
    const { code, stderr } = await command.ended();
    expect([code, stderr]).toEqual([130, expect.stringContaining(`vouchbox: ${said}`)]);
    const { client } = rig().alpha;
    const job = (await client.list({ limit: 1 })).items[0]?.job_id ?? '';
    expect((await client.detail(job)).cancellation_requested).toBe(count === 0);
    await client.cancel(job);
  });

  slowTest(
    'explains a refusal in one line, and exits with 125 if another service might accept the job, or else with 2',
    async () => {
      const file = program('g.sh', 'true');
      const request = String.raw`request \S+\)`;
      const cases: [string[], number, RegExp][] = [
        [[program('f.py', '')], 2, new RegExp(`^vouchbox: f\\.py .*empty.* \\(invalid_request, ${request}\n$`)],
        [[file, '--limit', 'mem_mb=0'], 2, /^vouchbox: --limit mem_mb must be greater than 0 /],
        [[file, '--env', 'PATH=1'], 2, /^vouchbox: --env PATH is the same in every cell /],
        [
          [file, '--label', 'a', '--label', '\u001b[2J'],
          2,
          /^vouchbox: --label \S+\[2J must be text without control characters /,
        ],
        [[file, '--sign-labels'], 2, /^vouchbox: --sign-labels must be left out: there are no labels /],
        [[file, '--', 'a', 'x'.repeat(5000)], 2, /^vouchbox: argument 2 is 5000 bytes /],
        [
          [file, '--language', 'JavaScript'],
          2,
          /^vouchbox: --language "JavaScript" .*; this service has python, .*; try --language node\n$/,
        ],
        [
          [program('f.rb', '1')],
          125,
          /^vouchbox: --language ruby is not available .*; `vouchbox packs build ruby`, as root on the host of the service, /,
        ],
        [[file, '--runtime', 'none'], 125, /^vouchbox: --runtime "none" .*; it has system.* \(runtime_unavailable, /],
        [
          [file, '--minimum-isolation', 'hardware-vm'],
          125,
          new RegExp(`^vouchbox: --minimum-isolation hardware-vm .* \\(minimum_isolation_unsatisfied, ${request}\n$`),
        ],
      ];
      for (const [words, code, stderr] of cases) {
        expect(await run(...words)).toMatchObject({ code, stderr: expect.stringMatching(stderr) });
      }
    },
  );

  test('says what to do about a key that the service refuses', async () => {
    const { code, stderr } = await run(program('g.sh', 'true'), '--key', 'unknown');
    expect(code).toBe(125);
    expect(stderr).toMatch(/\(unauthorized, request \S+\); `vouchbox keys list`, on the host of the service, /);
  });

  test.each([
    ['no program', []],
    ['a missing program', ['gone.py']],
    ['an unknown option', ['g.sh', '--network']],
    ['an unknown limit', ['g.sh', '--limit', 'disk=1']],
    ['a key without a service', ['g.sh', '--key', 'k']],
    ['--local together with --url', ['g.sh', '--local', '--url', 'http://127.0.0.1:1']],
    ['an output outside output/', ['g.sh', '--output', 'plot.png']],
  ])('exits with 2 for %s', async (_name, words) => {
    const { code, stderr } = await vouchbox(['run', ...words], { cwd: scratch });
    expect([code, stderr.length > 0]).toEqual([2, true]);
  });

  slowTest('says that a service cannot be reached', async () => {
    const nobody = createServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const { port } = nobody.address() as AddressInfo;
    await new Promise((resolve) => nobody.close(resolve));
    const env = { SERVICE_URL: `http://127.0.0.1:${port}`, SERVICE_KEY: 'k' };
    const { code, stderr } = await vouchbox(['run', program('h.sh', 'true')], { cwd: scratch, env });
    expect(code).toBe(125);
    expect(stderr).toMatch(
      /^vouchbox: no answer to POST \/v1\/jobs: .*ECONNREFUSED.*; is `vouchbox serve` running there\?\n$/,
    );
  });

  slowTest('recommends http:// if the service at an https:// address speaks no TLS', async () => {
    const env = { SERVICE_URL: rig().service.url.replace('http:', 'https:'), SERVICE_KEY: 'k' };
    const { code, stderr } = await vouchbox(['run', program('h.sh', 'true')], { cwd: scratch, env });
    expect([code, stderr]).toEqual([125, expect.stringMatching(/: nothing speaks TLS there; try http:.*\n$/)]);
  });

  slowTest('recommends bringing up the loopback interface if it is down', async () => {
    const env = { SERVICE_URL: 'http://127.0.0.1:8080', SERVICE_KEY: 'k' };
    const { code, stderr } = await vouchbox(['run', program('h.sh', 'true')], {
      cwd: scratch,
      env,
      within: ['unshare', '--net'],
    });
    expect([code, stderr]).toEqual([
      125,
      expect.stringMatching(/^vouchbox: .*ENETUNREACH.*; `ip link set lo up`.*\n$/),
    ]);
  });

  test('says in one line that its own service cannot store its data if TMPDIR is missing', async () => {
    const env = { SERVICE_PROVIDER: 'namespace', TMPDIR: join(scratch, 'absent') };
    const { code, stderr } = await vouchbox(['run', program('i.py', '')], { cwd: scratch, env });
    expect([code, stderr]).toEqual([
      125,
      expect.stringMatching(/^vouchbox: nothing can be stored in .*absent, which TMPDIR names: .*\n$/),
    ]);
  });

  slowTest('starts its own service if none is named, and removes everything that this service made', async () => {
    const env = { SERVICE_PROVIDER: 'namespace', TMPDIR: scratch };
    const words = ['run', program('i.py', 'print("own")')];
    const quiet = await vouchbox(words, { cwd: scratch, env });
    expect(quiet).toMatchObject({ code: 0, stdout: 'own\n', stderr: '' });
    const verbose = await vouchbox([...words, '--local', '--verbose'], {
      cwd: scratch,
      env: { ...env, SERVICE_URL: 'x' },
    });
    expect(verbose).toMatchObject({ code: 0, stdout: 'own\n' });
    expect(verbose.stderr).toMatch(/^vouchbox: starting a service for this run …\nvouchbox: job job_\S+\n$/);
    expect(existsSync(scratch) && readFileSync(join(scratch, 'i.py'), 'utf8')).toBe('print("own")');
  });

  slowTest.each(['namespace', 'gvisor'])(
    'runs a program in the class %s on a host that hides a part of /usr',
    async (name) => {
      // Hides a directory in the same way as a systemd unit with InaccessiblePaths=. In a user namespace, such a mount
      // must keep all of these flags.
      const hide = 'mount -t tmpfs -o ro,nosuid,nodev,noexec,mode=000 hidden /usr/src && exec "$@"';
      const within = ['unshare', '--mount', 'sh', '-c', hide, 'sh'];
      const env = { SERVICE_PROVIDER: name, TMPDIR: scratch };
      const ended = await vouchbox(['run', program('l.py', 'print("heard")')], { cwd: scratch, env, within });
      expect(ended).toMatchObject({ code: 0, stdout: 'heard\n', stderr: '' });
    },
  );

  slowTest('removes everything that its own service made if it is interrupted before the program runs', async () => {
    const own = mkdtempSync(join(scratch, 'own-'));
    const env = { SERVICE_PROVIDER: 'namespace', TMPDIR: own };
    const file = program('k.sh', 'sleep 300');
    const appeared = firstEntryOf(own);
    await using command = new Command(['run', file, '--limit', 'wall_seconds=300'], { cwd: scratch, env });
    const dataDir = join(own, await appeared);
    command.kill('SIGINT');
    const { code } = await command.ended();
    expect([code, readdirSync(own), leftoversOf(dataDir)]).toEqual([130, [], []]);
  });
});

describe('vouchbox jobs', () => {
  test('finds a job by a label that run gave it', async () => {
    const label = 'course 7, the last try';
    await vouchbox(['run', program('labelled.sh', 'echo'), '--label', label, '--label', 'other'], toService());
    const { stdout } = await vouchbox(['jobs', '--label', label, '--json'], toService());
    expect(JSON.parse(stdout).map((job: { labels: string[] }) => job.labels)).toEqual([[label, 'other']]);
  });

  slowTest('lists, shows and cancels jobs', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'exit 3' });
    const listed = await vouchbox(['jobs', 'list', '--limit', '1'], toService());
    expect(listed.stdout).toMatch(new RegExp(`^job_id +status .*\\n${job_id} +failed +bash .* 3 +- +exit 3\\n$`));
    const json = await vouchbox(['jobs', 'list', '--json', '--status', 'failed'], toService());
    expect(JSON.parse(json.stdout)[0].job_id).toBe(job_id);
    const shown = await vouchbox(['jobs', 'show', job_id], toService());
    expect(JSON.parse(shown.stdout)).toEqual(await rig().alpha.client.detail(job_id));
    const cancelled = await vouchbox(['jobs', 'cancel', job_id], toService());
    expect(cancelled).toMatchObject({ code: 0, stdout: `${job_id} had ended: failed\n` });
    const again = await vouchbox(['jobs', 'cancel', job_id, '--json'], toService());
    expect(JSON.parse(again.stdout)).toMatchObject({ status: 'failed', already_terminal: true });
  });

  test('without an argument lists jobs, and accepts the options of jobs list', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'true' });
    const { code, stdout } = await vouchbox(['jobs', '--limit', '1', '--json'], toService());
    expect([code, JSON.parse(stdout)[0].job_id]).toEqual([0, job_id]);
  });

  test.each([
    [['jobs', '--limit', 'ten'], /^vouchbox: --limit ten: give a whole number from 1 to 200\n$/],
    [['jobs', 'list', '--limit', '500'], /^vouchbox: --limit 500: give a whole number from 1 to 200\n$/],
    [
      ['jobs', 'show'],
      /^vouchbox: missing required argument 'job'\n\(vouchbox jobs show --help lists its options\)\n$/,
    ],
    [
      ['jobs', '--urll', 'x'],
      /^vouchbox: unknown option '--urll'\n.*--url\?.*\n\(vouchbox jobs list --help lists its options\)\n$/,
    ],
  ])('with wrong usage such as %j exits with 2 and says what would be right', async (words, stderr) => {
    const ended = await vouchbox(words, toService());
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(stderr);
  });

  test('fails without a service, or for an unknown job', async () => {
    expect((await vouchbox(['jobs', 'list'])).code).toBe(2);
    const { code, stderr } = await vouchbox(['jobs', 'show', 'job_1'], toService());
    expect([code, stderr.includes('job_not_found')]).toEqual([1, true]);
  });
});
