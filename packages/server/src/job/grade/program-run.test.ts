import { expect, test } from 'vitest';
import { type JobEnd, type PlannedJob, ProgramRun } from './program-run.ts';

const WELL: JobEnd = {
  job_id: 'job_1',
  receipt_sha256: '',
  code_sha256: null,
  terminal_reason: 'exited',
  exit_code: 0,
  truncated: false,
  isFailure: false,
};
const FAILED = { ...WELL, terminal_reason: 'server_restarted', exit_code: null, isFailure: true };

const begin = (tests: number, isChecked = false) => new ProgramRun(0, { tests, isChecked });
const names = (run: ProgramRun): string[] => {
  const all: string[] = [];
  for (let job = run.next(); job !== null; job = run.next()) all.push(`${job.name}/${job.attempt}`);
  return all;
};
const next = (run: ProgramRun) => run.next() as PlannedJob;

test('the judge runs once every test has ended', () => {
  const run = begin(2);
  const [first, second] = [next(run), next(run)];
  expect([first.name, second.name, run.next()]).toEqual(['test 0', 'test 1', null]);
  run.ended(second, WELL);
  expect(run.next()).toBeNull();
  run.ended(first, { ...WELL, exit_code: 1 });
  expect(names(run)).toEqual(['judge/1']);
});

test('before the judge, a checker runs for each test that ended without an error', () => {
  const run = begin(3, true);
  const [well, badly, cut] = [next(run), next(run), next(run)];
  run.ended(well, WELL);
  run.ended(badly, { ...WELL, exit_code: 1 });
  run.ended(cut, { ...WELL, truncated: true });
  const check = next(run);
  expect([check.name, run.next()]).toEqual(['check 0', null]);
  run.ended(check, { ...WELL, job_id: 'job_2' });
  expect(names(run)).toEqual(['judge/1']);
  expect(run.ends().map(({ check: of }) => of?.job_id ?? null)).toEqual(['job_2', null, null]);
});

test('a job that the service fails to run is made at most three times, and then counts as failed', () => {
  const run = begin(1);
  for (const attempt of [1, 2, 3]) {
    const job = next(run);
    expect([job.name, job.attempt]).toEqual(['test 0', attempt]);
    expect(run.ended(job, FAILED)).toBe(attempt === 3);
  }
  expect(names(run)).toEqual(['judge/1']);
});

test('a restarted grading continues after the jobs that it already made', () => {
  const run = begin(3, true);
  const again = [run.again('test 0', 2), run.again('check 0', 1), run.again('test 1', 1)];
  expect(again.map((job) => job && `${job.name}/${job.attempt}`)).toEqual(['test 0/2', 'check 0/1', 'test 1/1']);
  expect(names(run)).toEqual(['test 2/1']);
  expect(run.again('test 9', 1)).toBeNull();
  expect(run.ended({ ...(again[0] as PlannedJob), attempt: 1 }, WELL)).toBe(false);
  expect(run.ended(again[0] as PlannedJob, WELL)).toBe(true);
});
