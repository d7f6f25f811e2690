/** Spec § Events 5–6, § Folded result, § Limits: output comes back byte for byte, or the result says that it differs. */
import { createHash } from 'node:crypto';
import { recordBytesMax, streamBytesMax, streamRecordsMax } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { type Ran, useRig } from '../rig/rig.ts';

const rig = useRig();
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
const python = (code: string) => rig().run({ language: 'python', code });
const bash = (code: string) => rig().run({ language: 'bash', code });
const records = ({ events }: Ran, stream: string) =>
  events.filter(({ kind }) => kind === stream).map(({ data }) => data as { text: string; partial?: true });
/** Writes bytes, given as a Python expression, unchanged. */
const write = (expression: string, stream = 'stdout') => `import sys\nsys.${stream}.buffer.write(${expression})`;

describe('the result has exactly the text that the program wrote:', { tags: ['Result-5'] }, () => {
  test.each([
    ['nothing', "b''", ''],
    ['one line', "b'a\\n'", 'a\n'],
    ['no final newline', "b'a\\nb'", 'a\nb'],
    ['a newline alone', "b'\\n'", '\n'],
    ['empty lines', "b'\\n\\na\\n\\n'", '\n\na\n\n'],
    ['carriage returns', "b'a\\r\\nb\\rc\\n'", 'a\r\nb\rc\n'],
    ['NUL and other controls', "b'a\\x00b\\x1b[31m\\x07\\n'", 'a\0b\x1b[31m\x07\n'],
    ['separators other than newlines', "'a\\u2028b\\u2029c\\u0085\\n'.encode()", 'a\u2028b\u2029c\u0085\n'],
    ['a byte order mark', "b'\\xef\\xbb\\xbfa\\n'", '\ufeffa\n'],
    ['every plane of Unicode', "'é€😀\\U0010ffff\\n'.encode()", 'é€😀\u{10ffff}\n'],
    ['what looks like an event', 'b\'{"kind":"finished"}\\n\'', '{"kind":"finished"}\n'],
  ])('%s', async (_name, expression, text) => {
    const both = await python(`${write(expression)}\n${write(expression, 'stderr')}`);
    expect(both.result).toMatchObject({ stdout: text, stderr: text, truncated: false });
    expect(both.detail.receipt?.executor_output?.stdout).toMatchObject({
      bytes_seen: Buffer.byteLength(text),
      raw_sha256: sha256(text),
      executor_truncated: false,
    });
  });

  test('a 20,000-character JSON line', async () => {
    const { result } = await python("import json; print(json.dumps({'text': 'x' * 19988}))");
    expect(result.stdout).toHaveLength(20_001);
    expect(JSON.parse(result.stdout)).toEqual({ text: 'x'.repeat(19_988) });
  });

  test('print("é" * 9000), whose text is longer than one record', async () => {
    const ran = await python('print("é" * 9000)');
    expect(ran.result.stdout).toBe(`${'é'.repeat(9000)}\n`);
    expect(records(ran, 'stdout')).toHaveLength(2);
  });

  test('both streams, each in its own order', async () => {
    const { result } = await bash('for i in 1 2 3 4 5; do echo "out $i"; echo "err $i" >&2; done');
    expect(result.stdout).toBe('out 1\nout 2\nout 3\nout 4\nout 5\n');
    expect(result.stderr).toBe('err 1\nerr 2\nerr 3\nerr 4\nerr 5\n');
  });

  test('characters that the program wrote in two parts', async () => {
    const { result } = await python("import os\nfor byte in '😀é'.encode(): os.write(1, bytes([byte]))");
    expect(result.stdout).toBe('😀é');
  });
});

describe('bytes that are not UTF-8', () => {
  test('each become one U+FFFD, and the receipt has the count and the digest of the raw bytes', {
    tags: ['Receipt-15', 'Receipt-16', 'Receipt-17', 'Result-9'],
  }, async () => {
    const bytes = Buffer.from('a\xff\xfeb\n\xc3\n\xe2\x82\n\xed\xa0\x80\n', 'latin1');
    const ran = await python(write(`bytes.fromhex('${bytes.toString('hex')}')`));
    expect(ran.result.stdout).toBe(new TextDecoder().decode(bytes));
    expect(ran.result).toMatchObject({ status: 'succeeded', truncated: false });
    expect(ran.detail.receipt?.executor_output?.stdout).toMatchObject({
      bytes_seen: bytes.length,
      raw_sha256: sha256(bytes),
    });
  });

  test('become U+FFFD even at the very end of the output', async () => {
    expect((await python(write("b'a\\xe2\\x82'"))).result.stdout).toBe('a\ufffd');
  });
});

describe('a record of output has at most 16 KiB:', () => {
  test.each([
    [recordBytesMax - 1, 1],
    [recordBytesMax, 1],
    [recordBytesMax + 1, 2],
    [2 * recordBytesMax + 1, 3],
  ])('a line of %i bytes is stored as %i records', { tags: ['Events-5', 'Limits-11'] }, async (bytes, count) => {
    const ran = await python(`print('x' * ${bytes})`);
    const pieces = records(ran, 'stdout');
    expect(pieces).toHaveLength(count);
    expect(pieces.map(({ partial }) => partial === true)).toEqual([...Array(count - 1).fill(true), false]);
    expect(ran.result.stdout).toBe(`${'x'.repeat(bytes)}\n`);
  });

  test('a record ends only between two characters', { tags: ['Events-5'] }, async () => {
    const text = `${'x'.repeat(recordBytesMax - 1)}😀${'é'.repeat(recordBytesMax)}`;
    const ran = await python(`print('x' * ${recordBytesMax - 1} + '😀' + 'é' * ${recordBytesMax})`);
    expect(ran.result.stdout).toBe(`${text}\n`);
    for (const { text: piece } of records(ran, 'stdout')) {
      expect(Buffer.byteLength(piece)).toBeLessThanOrEqual(recordBytesMax);
      expect(piece).not.toContain('\ufffd');
    }
  });

  test('a record is marked as partial if no newline followed its text', { tags: ['Events-4c'] }, async () => {
    const ran = await bash("printf 'a\\nb'");
    expect(records(ran, 'stdout')).toEqual([{ text: 'a' }, { text: 'b', partial: true }]);
  });
});

describe('a stream is stored up to 10,000 records', () => {
  const lines = (count: number) => python(`for i in range(${count}): print(i)`);
  const text = (count: number) => Array.from({ length: count }, (_, index) => `${index}\n`).join('');

  test.each([streamRecordsMax - 1, streamRecordsMax])('%i lines are stored completely', async (count) => {
    const ran = await lines(count);
    expect(ran.result.stdout).toBe(text(count));
    expect(ran.result.truncated).toBe(false);
  });

  test('10,001 lines are truncated, and the history and the receipt say how much is missing', {
    tags: ['What-8', 'Receipt-14', 'Result-6', 'Events-4f', 'Events-6', 'Limits-10'],
  }, async () => {
    const ran = await lines(streamRecordsMax + 1);
    const seen = Buffer.byteLength(text(streamRecordsMax + 1));
    expect(ran.result.stdout).toBe(text(streamRecordsMax));
    expect(ran.result).toMatchObject({ status: 'succeeded', truncated: true });
    expect(ran.events.filter(({ kind }) => kind === 'truncated').map(({ data }) => data)).toEqual([
      {
        stream: 'stdout',
        bytes_seen: seen,
        bytes_stored: Buffer.byteLength(text(streamRecordsMax)),
        records_stored: streamRecordsMax,
        limit_bytes: streamBytesMax,
        limit_records: streamRecordsMax,
      },
    ]);
    expect(ran.detail.receipt).toMatchObject({
      truncated: true,
      output: { stdout_records: streamRecordsMax },
      executor_output: {
        stdout: { bytes_seen: seen, raw_sha256: sha256(text(streamRecordsMax + 1)), executor_truncated: true },
      },
    });
  });
});

describe('a stream is stored up to 1 MiB', () => {
  test.each([streamBytesMax - 1, streamBytesMax])('%i bytes are stored completely', async (bytes) => {
    const { result } = await python(write(`b'x' * ${bytes}`));
    expect(result.stdout).toBe('x'.repeat(bytes));
    expect(result.truncated).toBe(false);
  });

  test('one byte beyond the limit truncates only its own stream', {
    tags: ['Receipt-14', 'Result-6', 'Events-6', 'Limits-10'],
  }, async () => {
    const ran = await python(`${write(`b'x' * ${streamBytesMax + 1}`)}\n${write("b'whole'", 'stderr')}`);
    expect(ran.result.stdout).toBe('x'.repeat(streamBytesMax));
    expect(ran.result).toMatchObject({ truncated: true, stderr: 'whole' });
    expect(ran.events.filter(({ kind }) => kind === 'truncated')).toHaveLength(1);
  });

  test('a line of 10 MB is read to its end, and the receipt has its count and its digest', {
    tags: ['Receipt-16', 'Limits-21', 'CHAIN-06'],
  }, async () => {
    const ran = await python(write("b'0123456789' * 1_000_000"));
    const line = '0123456789'.repeat(1_000_000);
    expect(ran.result.status).toBe('succeeded');
    expect(ran.result.stdout).toBe(line.slice(0, streamBytesMax));
    expect(ran.detail.receipt?.executor_output?.stdout).toMatchObject({
      bytes_seen: line.length,
      raw_sha256: sha256(line),
    });
  });

  test('a flood on both streams ends neither the job nor the service', { tags: ['Limits-21'] }, async () => {
    const ran = await bash('yes | head -c 30000000 & yes é | head -c 30000000 >&2 & wait');
    expect(ran.result).toMatchObject({ status: 'succeeded', truncated: true });
    const { stdout, stderr } = ran.detail.receipt?.executor_output ?? {};
    expect([stdout?.bytes_seen, stderr?.bytes_seen]).toEqual([30_000_000, 30_000_000]);
    expect(ran.events.filter(({ kind }) => kind === 'truncated')).toHaveLength(2);
  });
});

test('the receipt has the digest of the stored texts, joined by LF, without a final LF', {
  tags: ['What-8', 'Receipt-12'],
}, async () => {
  const ran = await bash("printf 'a\\n\\nb'; printf 'é\\n' >&2");
  expect(ran.detail.receipt?.output).toEqual({
    encoding: 'utf8-event-lines-joined-by-lf-no-trailing-lf',
    stdout_bytes: 4,
    stdout_records: 3,
    stdout_sha256: sha256('a\n\nb'),
    stderr_bytes: 2,
    stderr_records: 1,
    stderr_sha256: sha256('é'),
  });
});

describe('a program with unusual use of its streams', () => {
  test('that closes its stdout keeps its earlier output and its exit code', async () => {
    const { result } = await bash('echo before; exec 1>&-; echo after 2>/dev/null; echo err >&2; exit 3');
    expect(result).toMatchObject({ status: 'failed', exit_code: 3, stdout: 'before\n' });
  });

  test('that closes all its streams keeps its earlier output and its exit code', async () => {
    const { result } = await bash('echo a; exec 0<&- 1>&- 2>&-; exit 0');
    expect(result).toMatchObject({ status: 'succeeded', stdout: 'a\n', stderr: '' });
  });

  test('that does not read a stdin of 1 MiB succeeds', async () => {
    const { result } = await rig().run({ language: 'bash', code: 'echo done', stdin: 'x'.repeat(1024 * 1024) });
    expect(result).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
  });

  test('that exits right after a write of 60 kB keeps all of that output', async () => {
    const { result } = await python("import os; os.write(1, b'x' * 60000); os._exit(0)");
    expect(result.stdout).toHaveLength(60_000);
  });
});
