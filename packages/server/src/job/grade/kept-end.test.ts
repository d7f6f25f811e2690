/** The part of a job's end that is kept is small, and the steps judge it like the whole end. */
import {
  CHECKED_FILES,
  checkRecord,
  inlineRoom,
  isCut,
  type JobEnd,
  nextJobs,
  runRecord,
} from '@vouchbox/protocol/grading-steps';
import { describe, expect, test } from 'vitest';
import { keptEnd } from './kept-end.ts';

const TESTS = 1000;
const long = 'x'.repeat(2 ** 20);
const END: JobEnd = {
  job_id: 'job_1',
  receipt_sha256: 'a',
  terminal_reason: 'exited',
  exit_code: 0,
  truncated: false,
  stdout: '',
  stderr: '',
  violations: [],
  programUsage: null,
  inputs: [],
  outputs: [],
  cpu_limit_ms: 1000,
  code_sha256: 'b',
  stdin_sha256: null,
  stdout_sha256: 'c',
  usage: { cpu_ms: 1, wall_ms: 1, memory_peak_bytes: 1 },
};
/** As many outputs as a job can have. */
const many = Array.from({ length: 200 }, (_, at) => `output/${at}${'x'.repeat(200)}`);
const MANY: Partial<JobEnd> = {
  outputs: many.map((path) => ({ path, sha256: 'd' })),
  violations: [...many, 'output/score.txt'].map((path) => ({
    type: 'output_path',
    message: `${path} is a link`,
    path,
  })),
};
const FAILED = { terminal_reason: 'compile_failed', exit_code: 1 };

describe('the shortened end of a job is judged like the whole end for', () => {
  test.each<[string, Partial<JobEnd>]>([
    ['short texts', { stdout: 'out', stderr: 'points 3' }],
    ['a long output', { stdout: long }],
    ['a long output that was cut', { stdout: long, truncated: true }],
    ['a long stderr', { stderr: long }],
    ['points before a long text', { stderr: `points \t${' '.repeat(2 ** 20)}0.5 ${long}` }],
    ['a long text as points', { stderr: `points ${long}` }],
    ['a compiler that named a line', { ...FAILED, stderr: `${long}\nmain.cpp:1:1: error: no\n${long}` }],
    ['a compiler that met a limit', { ...FAILED, stderr: `main.cpp:1:1: error: no\nout of memory ${long}` }],
    ['a compiler that named nothing', { ...FAILED, stderr: long }],
    ['points in a file', { outputs: [{ path: 'output/score.txt', sha256: 'd', text: '3\n' }] }],
    ['a compiler that broke a limit', { violations: [{ type: 'pids', message: 'no more', phase: 'compile' }] }],
    ['many files, and points that were left out', MANY],
    ['long points in a file', { outputs: [{ path: 'output/score.txt', sha256: 'd', text: long }] }],
  ])('%s', (_what, more) => {
    const end = { ...END, ...more };
    const kept = keptEnd(end, TESTS);
    expect(JSON.stringify(kept).length).toBeLessThan(inlineRoom(TESTS) + 2000);
    const said = (one: JobEnd) => [
      runRecord(one, false),
      checkRecord(one, 'testlib'),
      checkRecord(one, 'kattis'),
      isCut(one),
      one.stdout_sha256,
    ];
    expect(said(kept)).toEqual(said(end));
  });
});

test('a checking job gets a long output as a path in the job that made the output', () => {
  const { job_id } = END;
  const program = { language: 'python', code: 'program' };
  const tests = Array.from({ length: TESTS }, (_, at) => ({ name: `${at}`, expected: { text: 'x' } }));
  const ends = new Map([['test 1', keptEnd({ ...END, stdout: long }, TESTS)]]);
  const abilities = { large_outputs: false, build: true };
  const check = nextJobs({ plan: { tests }, program, ends, abilities }).find(({ name }) => name === 'check 1');
  const output = { path: CHECKED_FILES.output, from: { job_id, path: 'output/stdout' } };
  expect(check?.submission.files).toContainEqual(output);
});
