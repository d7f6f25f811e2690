/** A program with a plan gets the right next jobs, even if some jobs end without a look at the tests. */
import type { GradingPlan, JobEnd as StepEnd } from '@vouchbox/protocol/grading-steps';
import { expect, test } from 'vitest';
import { PlanRun, type StepJob } from './plan-run.ts';
import type { JobEnd } from './program-run.ts';

const STEP: StepEnd = {
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

const endOf = (more: Partial<StepEnd> = {}): JobEnd => {
  const step = { ...STEP, ...more };
  const { job_id, receipt_sha256, code_sha256, terminal_reason, exit_code, truncated } = step;
  return { job_id, receipt_sha256, code_sha256, terminal_reason, exit_code, truncated, isFailure: false, step };
};

const three = [{ name: 'one' }, { name: 'two' }, { name: 'three' }];
const begin = (plan: GradingPlan) => new PlanRun(0, { plan, language: 'python' });
const next = (run: PlanRun) => run.next() as StepJob;
const names = (run: PlanRun): string[] => {
  const all: string[] = [];
  for (let job = run.next(); job !== null; job = run.next()) all.push(job.name);
  return all;
};

test('if a failed test stops its group, no later test starts', () => {
  const run = begin({ tests: three, stop: true });
  const first = next(run);
  run.ended(first, endOf({ exit_code: 1 }));
  expect(names(run)).toEqual(['judge']);
});

test('a test is made before the end of another is known only if the program has one that no end can drop', () => {
  const run = begin({ tests: three });
  next(run);
  expect(run.mayRunAhead).toBe(true);
  expect(names(run)).toEqual(['test 2', 'test 3']);
  expect(run.mayRunAhead).toBe(false);
  const stopping = begin({ tests: three, stop: true });
  next(stopping);
  expect(stopping.mayRunAhead).toBe(false);
});

test('checkers and repeated tests run after the tests that were already planned', () => {
  const run = begin({ tests: three, checker: { language: 'python', code: 'checker' } });
  const [well, starved] = [next(run), next(run)];
  run.ended(well, endOf());
  run.ended(starved, endOf({ terminal_reason: 'wall_limit', exit_code: null }));
  expect(names(run)).toEqual(['test 3', 'check 1', 'test 2 again']);
});

test('a job that the service failed to run is made again, after the jobs that were already planned', () => {
  const run = begin({ tests: three });
  const first = next(run);
  expect(run.ended(first, { ...endOf({ terminal_reason: 'server_restarted' }), isFailure: true })).toBe(false);
  const again = [next(run), next(run), next(run)];
  expect(again.map(({ name, attempt }) => `${name}/${attempt}`)).toEqual(['test 2/1', 'test 3/1', 'test 1/2']);
  for (const job of again) run.ended(job, endOf());
  expect(names(run)).toEqual(['judge']);
});
