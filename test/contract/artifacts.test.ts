/** Spec § Job submission, path rules; § Folded result, artifacts: which of a program's files come back. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
const MIB = 1024 * 1024;
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
const python = (code: string, outputs: string[]) =>
  rig().run({ language: 'python', code, outputs, limits: { max_file_mb: 64 } });

describe('a requested output', () => {
  test('is returned byte for byte, and the result, the history and the receipt have its size and digest', {
    tags: ['Submission-6', 'Receipt-7', 'Result-8', 'Events-4d'],
  }, async () => {
    const { result, detail, events } = await python(
      "import os\nos.makedirs('output/deep')\nopen('output/a.bin', 'wb').write(bytes(range(256)))\nopen('output/deep/é', 'w').write('')",
      ['output/a.bin', 'output/deep/é'],
    );
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const records = [
      { path: 'output/a.bin', size_bytes: 256, sha256: sha256(bytes) },
      { path: 'output/deep/é', size_bytes: 0, sha256: sha256(Buffer.alloc(0)) },
    ];
    expect(result.artifacts).toEqual([
      { ...records[0], content_base64: bytes.toString('base64') },
      { ...records[1], content_base64: '' },
    ]);
    expect(events.filter(({ kind }) => kind === 'artifact').map(({ data }) => data)).toEqual(records);
    expect(detail.receipt?.output_artifacts).toEqual(records);
    expect(result.violations).toEqual([]);
  });

  test('is returned even if its program failed or was killed', async () => {
    const failed = await python("open('output/a', 'w').write('x'); raise SystemExit(1)", ['output/a']);
    expect(failed.result).toMatchObject({ status: 'failed', artifacts: [{ path: 'output/a' }] });
    const ended = await rig().run({
      language: 'bash',
      code: 'echo x > output/a; sleep 60',
      outputs: ['output/a'],
      limits: { wall_seconds: 2 },
    });
    expect(ended.result).toMatchObject({ status: 'timed_out', artifacts: [{ path: 'output/a' }] });
  });

  test('is returned, and a file that nobody requested is left out', { tags: ['Submission-6'] }, async () => {
    const { result } = await python("open('output/a', 'w'); open('output/b', 'w')", ['output/a']);
    expect(result.artifacts.map(({ path }) => path)).toEqual(['output/a']);
  });
});

test('an output that is a hard link, or a sparse file, is returned whole', { tags: ['Submission-36a'] }, async () => {
  const { result } = await python(
    "import os\nopen('output/one', 'w').write('same'); os.link('output/one', 'output/two')\nf = open('output/holes', 'wb'); f.seek(100000); f.write(b'x')",
    ['output/one', 'output/two', 'output/holes'],
  );
  expect(result.violations).toEqual([]);
  const contents = result.artifacts.map(({ content_base64 }) => Buffer.from(content_base64, 'base64'));
  expect(contents).toEqual([
    Buffer.from('same'),
    Buffer.from('same'),
    Buffer.concat([Buffer.alloc(100_000), Buffer.from('x')]),
  ]);
});

describe('a requested output that cannot be returned is named in a violation, and the other outputs are returned', () => {
  test.each<[string, string, string]>([
    ['was not written', '', 'output_missing'],
    ['is a link to a file of its own', "os.symlink('good', 'output/bad')", 'output_path'],
    ['is a link to the host', "os.symlink('/etc/passwd', 'output/bad')", 'output_path'],
    ['is a link to nowhere', "os.symlink('nowhere', 'output/bad')", 'output_path'],
    ['is a directory', "os.mkdir('output/bad')", 'output_kind'],
    ['is a named pipe', "os.mkfifo('output/bad')", 'output_kind'],
    ['is a socket', "import socket; s = socket.socket(socket.AF_UNIX); s.bind('output/bad')", 'output_kind'],
    ['is larger than 2 MiB', `open('output/bad', 'wb').write(bytes(${2 * MIB + 1}))`, 'output_size'],
    ['is sparse and huge', `open('output/bad', 'wb').truncate(${60 * MIB})`, 'output_size'],
  ])('%s', { tags: ['Submission-36', 'Result-7', 'Events-4e'] }, async (_name, make, type) => {
    const { result, events } = await python(`import os\nopen('output/good', 'w').write('kept')\n${make}`, [
      'output/bad',
      'output/good',
    ]);
    expect(result.status).toBe('succeeded');
    expect(result.violations).toMatchObject([{ type, path: 'output/bad' }]);
    expect(result.artifacts.map(({ path }) => path)).toEqual(['output/good']);
    expect(events.filter(({ kind }) => kind === 'violation')).toHaveLength(1);
  });

  test('an output below a directory that is a symbolic link', { tags: ['Submission-37'] }, async () => {
    const { result } = await python("import os\nos.symlink('/etc', 'output/d')", ['output/d/passwd']);
    expect(result.violations).toMatchObject([{ type: 'output_path', path: 'output/d/passwd' }]);
    expect(result.artifacts).toEqual([]);
  });

  test('an output in output/, if the program replaced this directory with a symbolic link', {
    tags: ['Submission-37'],
  }, async () => {
    const { result } = await python("import os\nos.rmdir('output')\nos.symlink('/etc', 'output')", ['output/passwd']);
    expect(result.artifacts).toEqual([]);
    expect(result.violations).toHaveLength(1);
  });
});

describe('the sizes of outputs', () => {
  test('a file of 2 MiB is returned whole', { tags: ['Limits-6'] }, async () => {
    const { result } = await python(`open('output/a', 'wb').write(b'x' * ${2 * MIB})`, ['output/a']);
    expect(result.artifacts[0]).toMatchObject({ size_bytes: 2 * MIB, sha256: sha256(Buffer.alloc(2 * MIB, 'x')) });
  });

  test('files that total 4 MiB are returned, and a file beyond that is named in a violation', {
    tags: ['Limits-6'],
  }, async () => {
    const write = (name: string, bytes: number) => `open('output/${name}', 'wb').write(bytes(${bytes}))`;
    const { result } = await python([write('a', 2 * MIB), write('b', 2 * MIB), write('c', 1)].join('\n'), [
      'output/a',
      'output/b',
      'output/c',
    ]);
    expect(result.artifacts.map(({ path }) => path)).toEqual(['output/a', 'output/b']);
    expect(result.violations).toMatchObject([{ type: 'output_size', path: 'output/c' }]);
  });
});
