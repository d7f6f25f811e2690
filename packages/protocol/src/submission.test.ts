import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { filesMax, idempotencyKeyBytesMax, listLimitMax, replayLimitMax, waitSecondsMax } from './limits.ts';
import { ListQuery, ReplayQuery, ResultQuery, StreamQuery, SubmissionHeaders } from './queries.ts';
import { JobSubmission } from './submission.ts';

const submission = (change: object) => Value.Check(JobSubmission, { language: 'python', code: 'print()', ...change });
const file = (index: number) => ({ path: `input/${index}`, content_base64: '' });

describe('the schema of a submission (Spec § Job submission)', () => {
  test('requires only language and code', { tags: ['Submission-1', 'Submission-2'] }, () => {
    expect(Value.Check(JobSubmission, { language: 'python', code: 'x' })).toBe(true);
    expect(Value.Check(JobSubmission, { language: 'python' })).toBe(false);
    expect(Value.Check(JobSubmission, { code: 'x' })).toBe(false);
  });

  test.each<[string, object]>([
    ['an unknown member', { timeout: 3 }],
    ['a member named __proto__', JSON.parse('{"__proto__":{}}') as object],
    ['an unknown limit', { limits: { wall: 3 } }],
    ['an unknown requirement', { requirements: { isolation: 'none' } }],
    ['an unknown member of a file', { files: [{ ...file(1), mode: 7 }] }],
    ['empty code', { code: '' }],
    ['null for files', { files: null }],
    ['a limit of zero', { limits: { wall_seconds: 0 } }],
    ['a negative limit', { limits: { cpu_seconds: -1 } }],
    ['a limit that is a string', { limits: { mem_mb: '5' } }],
    ['an infinite limit', { limits: { wall_seconds: Number.POSITIVE_INFINITY } }],
    ['an unknown isolation class', { requirements: { minimum_isolation: 'vm' } }],
  ])('refuses %s', (_name, change) => {
    expect(submission(change)).toBe(false);
  });

  test.each<[string, object]>([
    ['an unknown language, which has an error of its own', { language: 'cobol' }],
    ['a limit over any ceiling, which is clamped', { limits: { mem_mb: 1e9, wall_seconds: 1e308 } }],
    ['fractional limits', { limits: { wall_seconds: 0.5, cpu_seconds: 0.0001, max_pids: 1.5, mem_mb: 0.1 } }],
    ['null instead of an absent member', { stdin: null, runtime: null }],
    ['an empty stdin and no files', { stdin: '', files: [], outputs: [] }],
  ])('accepts %s', (_name, change) => {
    expect(submission(change)).toBe(true);
  });

  test.each([filesMax - 1, filesMax, filesMax + 1])('accepts up to 32 files and up to 32 outputs: %i', (count) => {
    const files = Array.from({ length: count }, (_, index) => file(index));
    expect(submission({ files })).toBe(count <= filesMax);
    expect(submission({ outputs: files.map(({ path }) => path) })).toBe(count <= filesMax);
  });
});

describe('the bounds of queries and headers', () => {
  test.each([
    ['list limit', (limit: number) => Value.Check(ListQuery, { limit }), 1, listLimitMax],
    ['replay limit', (limit: number) => Value.Check(ReplayQuery, { limit }), 1, replayLimitMax],
    ['wait_seconds', (wait_seconds: number) => Value.Check(ResultQuery, { wait_seconds }), 0, waitSecondsMax],
    [
      'key length',
      (n: number) => Value.Check(SubmissionHeaders, { 'Idempotency-Key': 'k'.repeat(n) }),
      1,
      idempotencyKeyBytesMax,
    ],
  ] as const)('apply to %s', (_name, isRight, min, max) => {
    expect(isRight(min - 1)).toBe(false);
    expect(isRight(min)).toBe(true);
    expect(isRight(min + 1)).toBe(true);
    expect(isRight(max - 1)).toBe(true);
    expect(isRight(max)).toBe(true);
    expect(isRight(max + 1)).toBe(false);
  });

  test('refuse a negative cursor', () => {
    expect(Value.Check(StreamQuery, { after: -1 })).toBe(false);
    expect(Value.Check(StreamQuery, { after: 0 })).toBe(true);
    expect(Value.Check(ReplayQuery, { after: -1 })).toBe(false);
  });

  test.each([' ', 'a b', 'a\tb', 'a\u007f', 'é', 'a,b\n'])('refuse the Idempotency-Key %j', (key) => {
    expect(Value.Check(SubmissionHeaders, { 'Idempotency-Key': key })).toBe(false);
  });

  test('accept a fraction as seconds to wait, but not as a page size', () => {
    expect(Value.Check(ResultQuery, { wait_seconds: 0.25 })).toBe(true);
    expect(Value.Check(ListQuery, { limit: 1.5 })).toBe(false);
  });

  test('accept only known statuses as a filter', () => {
    expect(Value.Check(ListQuery, { status: ['queued', 'oom_killed'] })).toBe(true);
    expect(Value.Check(ListQuery, { status: ['done'] })).toBe(false);
    expect(Value.Check(ListQuery, { status: [] })).toBe(false);
  });
});
