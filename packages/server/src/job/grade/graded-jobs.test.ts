/** The input that the judge of a program gets. */
import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { type GradedJobsOptions, GradingProblem, specOf } from './graded-jobs.ts';
import { type JobEnd, ProgramRun } from './program-run.ts';

const TESTS = 1000;
const END: JobEnd = {
  job_id: 'job_1',
  receipt_sha256: 'a',
  code_sha256: 'b',
  terminal_reason: 'exited',
  exit_code: 0,
  truncated: false,
  isFailure: false,
};

test('stops reading results once the outputs are more than the judge accepts', {
  tags: ['Gradings-2c'],
}, async () => {
  const run = new ProgramRun(0, { tests: TESTS, isChecked: false });
  let planned = run.next();
  while (planned?.purpose === 'test') {
    run.ended(planned, END);
    planned = run.next();
  }
  const names = Array.from({ length: TESTS }, (_, at) => `${at}`);
  const grading = {
    tenant: 'acme',
    grading_id: 'grading_1',
    common: { limits: LIMIT_DEFAULTS, requirements: { minimum_isolation: 'none' as const }, checker: null },
    heads: names.map((name) => ({ name, points: 1, compare: 'lines' as const })),
    withFiles: new Set<number>(),
    programs: new Map(),
    products: new Map(),
  };
  let read = 0;
  const store = {
    gradingProgram: async () => JSON.stringify({ language: 'bash' }),
    gradingTests: async () => [JSON.stringify({ expected: null })],
    shortResult: () => {
      read += 1;
      return JSON.stringify({ stdout: 'x'.repeat(2 ** 20) });
    },
  };
  const options = { store, run } as unknown as GradedJobsOptions & { readonly run: ProgramRun };
  if (planned === null) throw new Error('no judge is planned');
  await expect(specOf(grading, planned, options)).rejects.toThrow(GradingProblem);
  expect(read).toBe(64);
});
