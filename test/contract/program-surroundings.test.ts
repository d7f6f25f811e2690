/** What a program sees: its files, its streams and its environment, but nothing of the host. */
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
const base64 = (text: string) => Buffer.from(text).toString('base64');
const stdoutOf = async (submission: Parameters<ReturnType<typeof rig>['run']>[0]) => {
  const { result } = await rig().run(submission);
  expect(result).toMatchObject({ status: 'succeeded', stderr: '' });
  return result.stdout;
};

describe.each([
  ['python', 'import sys; data = sys.stdin.read(); sys.stdout.write(data)'],
  ['node', 'process.stdin.pipe(process.stdout)'],
  ['bash', 'cat'],
])('in %s', (language, copy) => {
  test('stdin arrives whole, to the last byte', async () => {
    const stdin = `${'é😀'.repeat(500)}\n`.repeat(100).padEnd(800_000, 'x');
    expect(await stdoutOf({ language, code: copy, stdin })).toBe(stdin);
  });

  test('stdin is empty if the submission gives none', { tags: ['Submission-4'] }, async () => {
    expect(await stdoutOf({ language, code: copy })).toBe('');
    expect(await stdoutOf({ language, code: copy, stdin: '' })).toBe('');
  });
});

describe('the working directory', () => {
  test('is /work and has the source, input/ and output/', { tags: ['Submission-38'] }, async () => {
    const listing = await stdoutOf({
      language: 'bash',
      code: 'pwd; echo *; echo input/*',
      files: [{ path: 'input/a b', content_base64: '' }],
    });
    expect(listing).toBe('/work\ninput main.sh output\ninput/a b\n');
  });

  test('has the input files in their directories, unchanged', {
    tags: ['Submission-5'],
  }, async () => {
    const files = [
      { path: 'input/data.txt', content_base64: base64('one\n') },
      { path: 'input/deep/er/é.bin', content_base64: '/wA=' },
    ];
    const code = 'cat input/data.txt; od -An -tx1 input/deep/er/é.bin';
    expect(await stdoutOf({ language: 'bash', code, files })).toBe('one\n ff 00\n');
  });

  test('has an input/ directory in which the program can change nothing', { tags: ['Submission-39'] }, async () => {
    const files = [{ path: 'input/a', content_base64: base64('kept') }];
    const code =
      'for act in "echo x > input/a" "rm input/a" "touch input/b" "chmod 777 input/a"; do (eval "$act") 2>/dev/null && echo "$act"; done; cat input/a';
    expect(await stdoutOf({ language: 'bash', code, files })).toBe('kept');
  });

  test('is writable only in output/; outside it, only /tmp is writable', { tags: ['Submission-39'] }, async () => {
    const code = `
for directory in /work/output /tmp / /usr /etc /proc /dev /root /var; do
  (echo x > "$directory/probe") 2>/dev/null && echo "$directory"
done
true`;
    expect(await stdoutOf({ language: 'bash', code })).toBe('/work/output\n/tmp\n');
  });
});

describe('the environment', () => {
  test('has only a few fixed variables, and none from the service', { tags: ['Submission-40'] }, async () => {
    const names = await stdoutOf({ language: 'python', code: 'import os; print(" ".join(sorted(os.environ)))' });
    expect(names.trim().split(' ')).toEqual(expect.arrayContaining(['HOME', 'LANG', 'PATH', 'PYTHONUNBUFFERED']));
    expect(
      names
        .trim()
        .split(' ')
        .filter((name) => !/^(HOME|LANG|LOGNAME|PATH|PYTHONUNBUFFERED|MPLCONFIGDIR|LC_CTYPE|TMPDIR|USER)$/.test(name)),
    ).toEqual([]);
    expect(await stdoutOf({ language: 'bash', code: 'echo "$HOME $LANG"' })).toBe('/tmp C.UTF-8\n');
  });

  test('gives the program a user and a group with the id 1000', async () => {
    expect(await stdoutOf({ language: 'bash', code: 'id -u; id -g; id -G' })).toBe('1000\n1000\n1000\n');
  });

  test('refuses every network connection', { tags: ['What-8a', 'Events-10'] }, async () => {
    const code = `
import socket
for family, address in ((socket.AF_INET, ('127.0.0.1', ${80})), (socket.AF_INET, ('169.254.169.254', 80)), (socket.AF_INET6, ('::1', 80))):
    try:
        socket.create_connection(address, 1) if family == socket.AF_INET else socket.socket(family).connect(address)
        print('connected', address)
    except OSError as error:
        print('refused')
`;
    expect(await stdoutOf({ language: 'python', code })).toBe('refused\nrefused\nrefused\n');
  });
});

describe('the standard streams can be opened again by path', { tags: ['Submission-41'] }, () => {
  test('echo x > /dev/stderr writes to stderr', async () => {
    const { result } = await rig().run({
      language: 'bash',
      code: 'echo x > /dev/stderr; echo y > /dev/stdout; cat /dev/stdin',
      stdin: 'z\n',
    });
    expect(result).toMatchObject({ status: 'succeeded', stdout: 'y\nz\n', stderr: 'x\n' });
  });

  test('Python and Node can open their standard streams by path', async () => {
    const python = await rig().run({ language: 'python', code: "open('/dev/stderr', 'w').write('p')" });
    expect(python.result.stderr).toBe('p');
    const node = await rig().run({ language: 'node', code: "require('fs').writeFileSync('/dev/stdout', 'n')" });
    expect(node.result.stdout).toBe('n');
  });
});

describe('a program in JavaScript', () => {
  test('may be an ES module', { tags: ['Submission-42'] }, async () => {
    const code =
      "import { readFileSync } from 'node:fs';\nawait null;\nconsole.log(typeof readFileSync, import.meta.url);";
    expect(await stdoutOf({ language: 'node', code })).toBe('function file:///work/main.mjs\n');
  });

  test('may be CommonJS', { tags: ['Submission-42'] }, async () => {
    const code = "const fs = require('node:fs');\nconsole.log(typeof fs.readFileSync, __filename);";
    expect(await stdoutOf({ language: 'node', code })).toBe('function /work/main.cjs\n');
  });

  test("with a syntax error fails with Node's own message", async () => {
    const { result } = await rig().run({ language: 'node', code: 'const = 1' });
    expect(result).toMatchObject({ status: 'failed', exit_code: 1 });
    expect(result.stderr).toContain('SyntaxError');
  });
});

test('files that one job leaves in /tmp, output/ and /dev/shm do not appear in the next job', async () => {
  const plant = 'echo planted | tee /tmp/left /work/output/left /dev/shm/left >/dev/null; true';
  await rig().run({ language: 'bash', code: plant });
  const code = 'ls -A /tmp /work/output /dev/shm | grep left; true';
  expect(await stdoutOf({ language: 'bash', code })).toBe('');
});
