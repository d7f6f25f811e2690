import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UsageError } from '../failures/usage-error.ts';
import { readSubmission, type SubmissionOptions, wantedOutputs } from './submission-options.ts';

const nothing: SubmissionOptions = { file: [], env: [], output: [], limit: [] };
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  writeFileSync(at('main.py'), 'print("é")');
  writeFileSync(at('script'), 'true');
  writeFileSync(at('bytes.bin'), Buffer.from([0xff, 0x00]));
});
afterAll(() => rmSync(directory, { recursive: true }));

const at = (name: string) => join(directory, name);

describe('a submission', () => {
  test('from a single file has only the code, and the language that the file name shows', async () => {
    expect(await readSubmission(at('main.py'), nothing)).toEqual({ language: 'python', code: 'print("é")' });
  });

  test.each([
    ['a.js', 'node'],
    ['a.mjs', 'node'],
    ['a.cjs', 'node'],
    ['a.sh', 'bash'],
    ['a.bash', 'bash'],
    ['a.ts', 'typescript'],
    ['a.mts', 'typescript'],
    ['a.rb', 'ruby'],
    ['a.R', 'r'],
    ['Main.java', 'java'],
    ['a.c', 'c'],
    ['a.cpp', 'cpp'],
  ])('takes from the name %s the language %s', async (name, language) => {
    writeFileSync(at(name), 'true');
    expect((await readSubmission(at(name), nothing)).language).toBe(language);
  });

  test('takes the language from the option rather than from the file name', async () => {
    expect((await readSubmission(at('main.py'), { ...nothing, language: 'bash' })).language).toBe('bash');
    await expect(readSubmission(at('script'), nothing)).rejects.toThrow('give --language');
  });

  test("takes each input file as bytes, under the given path or under the file's own name", async () => {
    const { files } = await readSubmission(at('main.py'), {
      ...nothing,
      file: [`input/deep/x=${at('bytes.bin')}`, at('bytes.bin')],
    });
    expect(files).toEqual([
      { path: 'input/deep/x', content_base64: '/wA=' },
      { path: 'input/bytes.bin', content_base64: '/wA=' },
    ]);
  });

  test("takes another job's output as an input file, under the given path or under its own name", async () => {
    const file = ['input/deep/x=job:job_1/output/a/b.csv', 'job:job_1/output/a/b.csv'];
    const from = { job_id: 'job_1', path: 'output/a/b.csv' };
    const { files } = await readSubmission(at('main.py'), { ...nothing, file });
    expect(files).toEqual([
      { path: 'input/deep/x', from },
      { path: 'input/b.csv', from },
    ]);
    const local = readSubmission(at('main.py'), { ...nothing, file: ['input/x=./job:job_1/output/a'] });
    await expect(local).rejects.toThrow('cannot be read');
  });

  test('takes stdin from a text or a file', async () => {
    expect((await readSubmission(at('main.py'), { ...nothing, stdin: 'a\n' })).stdin).toBe('a\n');
    expect((await readSubmission(at('main.py'), { ...nothing, stdin: '' })).stdin).toBe('');
    expect((await readSubmission(at('main.py'), { ...nothing, stdin: `@${at('script')}` })).stdin).toBe('true');
  });

  test('has the limits, outputs, pack and minimum isolation that were given', async () => {
    const submission = await readSubmission(at('main.py'), {
      ...nothing,
      output: ['output/a', 'output/b=c'],
      limit: ['wall_seconds=1.5', 'mem_mb=64'],
      runtime: 'system',
      minimumIsolation: 'linux-shared-kernel',
    });
    expect(submission).toMatchObject({
      outputs: ['output/a', 'output/b'],
      limits: { wall_seconds: 1.5, mem_mb: 64 },
      runtime: 'system',
      requirements: { minimum_isolation: 'linux-shared-kernel' },
    });
  });

  test('has arguments and variables, and takes the value of a variable given only by name from the environment', async () => {
    process.env['SVC_TEST_VARIABLE'] = 'of this process';
    const given = { ...nothing, args: ['-v', ''], env: ['A=1=2', 'SVC_TEST_VARIABLE'] };
    const { args, env } = await readSubmission(at('main.py'), given);
    expect({ args, env }).toEqual({ args: ['-v', ''], env: { A: '1=2', SVC_TEST_VARIABLE: 'of this process' } });
    await expect(readSubmission(at('main.py'), { ...nothing, env: ['SVC_NOT_SET'] })).rejects.toThrow('NAME=VALUE');
  });

  test.each<[string, string, Partial<SubmissionOptions>, string]>([
    ['a missing program', 'gone.py', {}, 'gone.py cannot be read'],
    ['a program that is not text', 'bytes.bin', { language: 'python' }, 'not UTF-8'],
    ['a missing input', 'main.py', { file: ['input/x=gone'] }, 'gone cannot be read'],
    ['an unknown limit', 'main.py', { limit: ['disk=1'] }, 'the limits are wall_seconds'],
    ['a limit without a number', 'main.py', { limit: ['mem_mb'] }, 'give mem_mb=NUMBER'],
    ['a limit that is not a number', 'main.py', { limit: ['mem_mb=1e3'] }, 'give mem_mb=NUMBER'],
    ['an output without a name', 'main.py', { output: ['=x'] }, 'give output/NAME'],
  ])('a submission with %s is a usage error', async (_name, file, options, message) => {
    const error = await readSubmission(at(file), { ...nothing, ...options }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UsageError);
    expect(String(error)).toContain(message);
  });
});

test('an output is written to its own path unless the option gives another path', () => {
  expect(wantedOutputs(['output/a', 'output/b=../c=d'])).toEqual([
    { path: 'output/a', target: 'output/a' },
    { path: 'output/b', target: '../c=d' },
  ]);
});
