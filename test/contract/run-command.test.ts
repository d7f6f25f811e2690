/** `vouchbox run` and `vouchbox jobs`: a program's output, files and exit code at the command line. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Command, type CommandOptions, vouchbox } from '../rig/command.ts';
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
  test('passes both streams on to the byte, and the exit code', async () => {
    const file = program(
      'a.py',
      "import sys\nprint('é')\nsys.stdout.write('no newline')\nprint('err', file=sys.stderr)\nsys.exit(3)",
    );
    expect(await run(file)).toMatchObject({ code: 3, stdout: 'é\nno newline', stderr: 'err\n' });
  });

  test("escapes the program's output on a terminal unless told not to, and gives a pipe the exact bytes", {
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

  test('gives stdin, files, limits and language, and fetches outputs', { tags: ['What-1a'] }, async () => {
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

  test('reads the program, or its stdin, from its own stdin', async () => {
    const code = { ...toService(), stdin: 'print(6 * 7)' };
    expect(await vouchbox(['run', '-', '--language', 'python'], code)).toMatchObject({ code: 0, stdout: '42\n' });
    const input = { ...toService(), stdin: 'piped' };
    expect(await vouchbox(['run', program('cat.sh', 'cat'), '--stdin', '-'], input)).toMatchObject({ stdout: 'piped' });
  });

  test.each<[string, string, string[], number, RegExp]>([
    [
      'a time limit',
      'sleep 60',
      ['--limit', 'wall_seconds=0.3'],
      124,
      /^vouchbox: wall_time: .*\nvouchbox: timed_out: wall_limit\n$/,
    ],
    [
      'the memory limit',
      'x=$(head -c 200000000 /dev/zero | tr "\\0" x); echo "$x"',
      ['--limit', 'mem_mb=32'],
      137,
      /vouchbox: oom_killed/,
    ],
    ['a signal', 'kill -SEGV $$', [], 139, /^vouchbox: failed: signaled \(SIGSEGV\)\n$/],
  ])('says when %s ended the program', async (_name, code, words, exitCode, stderr) => {
    const ended = await run(program('c.sh', code), ...words);
    expect(ended.code).toBe(exitCode);
    expect(ended.stderr).toMatch(stderr);
  });

  test('gives arguments and variables, and fetches every output below a directory', async () => {
    const file = program('words.sh', 'echo "$1" "$2" "$A" > output/a; mkdir output/d; echo deep > output/d/b');
    const ended = await run(file, '--env', 'A=b=c', '--output', 'output/**=all', '--', '--flag', 'two words');
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    expect(readFileSync(join(scratch, 'all/a'), 'utf8')).toBe('--flag two words b=c\n');
    expect(readFileSync(join(scratch, 'all/d/b'), 'utf8')).toBe('deep\n');
  });

  test.each([
    ['lines', 'yes | head -n 10001', '10000 lines'],
    ['bytes', 'head -c 1048577 /dev/zero | tr "\\0" x', '1048576 bytes'],
  ])('says that the cap on %s cut the output', async (_cap, code, remark) => {
    expect((await run(program('long.sh', code))).stderr).toBe(
      `vouchbox: stdout is truncated: only its first ${remark} are recorded\n`,
    );
  });

  test('names an output that did not come back', async () => {
    const ended = await run(program('d.sh', 'true'), '--output', 'output/a=never');
    expect(ended.stderr).toBe(
      'vouchbox: output_missing: output/a: output/a was not written\nvouchbox: output/a did not come back\n',
    );
    expect(existsSync(join(scratch, 'never'))).toBe(false);
  });

  test('shows output as it comes, and cancels its job when it is interrupted', async () => {
    const file = program('e.sh', 'echo first; sleep 300');
    await using command = new Command(['run', file, '--limit', 'wall_seconds=300'], toService());
    await command.shows(/^first\n/);
    command.kill('SIGINT');
    const { code, stderr } = await command.ended();
    expect([code, stderr]).toEqual([130, 'vouchbox: cancelled: cancelled\n']);
    expect((await rig().alpha.client.list({ limit: 1 })).items[0]?.status).toBe('cancelled');
  });

  test('prints a refusal in one line, with code 125', async () => {
    const ended = await run(program('f.py', ''), '--minimum-isolation', 'hardware-vm');
    expect(ended.code).toBe(125);
    expect(ended.stderr).toMatch(/^vouchbox: .*empty.* \(invalid_request, request \S+\)\n$/);
    const minimum = await run(program('g.sh', 'true'), '--minimum-isolation', 'hardware-vm');
    expect(minimum.stderr).toMatch(/^vouchbox: .*hardware-vm.* \(minimum_isolation_unsatisfied, request \S+\)\n$/);
  });

  test.each([
    ['no program', []],
    ['a missing program', ['gone.py']],
    ['an unknown option', ['g.sh', '--network']],
    ['an unknown limit', ['g.sh', '--limit', 'disk=1']],
    ['a key without a service', ['g.sh', '--key', 'k']],
  ])('is wrong usage for %s: code 2', async (_name, words) => {
    const { code, stderr } = await vouchbox(['run', ...words], { cwd: scratch });
    expect([code, stderr.length > 0]).toEqual([2, true]);
  });

  test('says that a service cannot be reached', async () => {
    const nobody = createServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const { port } = nobody.address() as AddressInfo;
    await new Promise((resolve) => nobody.close(resolve));
    const env = { SERVICE_URL: `http://127.0.0.1:${port}`, SERVICE_KEY: 'k' };
    const { code, stderr } = await vouchbox(['run', program('h.sh', 'true')], { cwd: scratch, env });
    expect(code).toBe(125);
    expect(stderr).toMatch(/^vouchbox: no answer to POST \/v1\/jobs: .*ECONNREFUSED/);
  });

  test('starts its own service if none is named, and leaves nothing of it', async () => {
    const env = { SERVICE_PROVIDER: 'namespace', TMPDIR: scratch };
    const { code, stdout } = await vouchbox(['run', program('i.py', 'print("own")')], { cwd: scratch, env });
    expect([code, stdout]).toEqual([0, 'own\n']);
    expect(existsSync(scratch) && readFileSync(join(scratch, 'i.py'), 'utf8')).toBe('print("own")');
  });

  test('leaves nothing of its own service when it is interrupted before the program runs', async () => {
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
  test('lists, shows and cancels', async () => {
    const { job_id } = await rig().run({ language: 'bash', code: 'exit 3' });
    const listed = await vouchbox(['jobs', 'list', '--limit', '1'], toService());
    expect(listed.stdout).toMatch(new RegExp(`^job_id +status .*\\n${job_id} +failed +bash .* 3\\n$`));
    const json = await vouchbox(['jobs', 'list', '--json', '--status', 'failed'], toService());
    expect(JSON.parse(json.stdout)[0].job_id).toBe(job_id);
    const shown = await vouchbox(['jobs', 'show', job_id], toService());
    expect(JSON.parse(shown.stdout)).toEqual(await rig().alpha.client.detail(job_id));
    const cancelled = await vouchbox(['jobs', 'cancel', job_id], toService());
    expect(cancelled).toMatchObject({ code: 0, stdout: `${job_id} had ended: failed\n` });
  });

  test('needs a service and an existing job', async () => {
    expect((await vouchbox(['jobs', 'list'])).code).toBe(2);
    const { code, stderr } = await vouchbox(['jobs', 'show', 'job_1'], toService());
    expect([code, stderr.includes('job_not_found')]).toEqual([1, true]);
  });
});
