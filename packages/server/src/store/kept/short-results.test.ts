import type { FoldedResult } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { Spelled } from '../../ground/json-text.ts';
import { at, finishOf, runJob, TestStore } from '../store.fixture.ts';
import { ShortResults, shortResult } from './short-results.ts';

const ended = { job_id: 'job_1', status: 'succeeded', exit_code: 0, duration_ms: 1, truncated: false } as const;
const contentsOf = ({ stdout = '', stderr = '' }) => ({ folded: { stdout, stderr }, violations: [] });
const key = (job_id: string) => ({ tenant: 'acme', job_id });

test('a result counts as short up to 32 Ki characters of stdout and stderr together', () => {
  const contents = (length: number) => contentsOf({ stdout: 'x'.repeat(length - 1), stderr: 'e' });
  const longest = shortResult(ended, contents(32 * 1024));
  expect(JSON.parse(String(longest))).toMatchObject({ ...ended, stderr: 'e', violations: [], artifacts: [] });
  expect(shortResult(ended, contents(32 * 1024 + 1))).toBeNull();
  // Each of these takes six characters in JSON.
  expect(shortResult(ended, contentsOf({ stdout: '\u0001'.repeat(32 * 1024) }))).toBeNull();
});

test('a result that a caller waits for is kept if it is at most as long as a stream may be', () => {
  const contents = contentsOf({ stdout: 'x'.repeat(2 ** 20) });
  expect(shortResult(ended, contents)).toBeNull();
  expect(JSON.parse(String(shortResult({ ...ended, isAwaited: true }, contents)))).toMatchObject({
    stdout: contents.folded.stdout,
  });
  expect(shortResult({ ...ended, isAwaited: true }, contentsOf({ stdout: 'x'.repeat(2 ** 20 + 1) }))).toBeNull();
  expect(shortResult({ ...ended, isAwaited: true }, contentsOf({ stdout: '\0'.repeat(2 ** 20) }))).toBeNull();
});

const textOf = (text: string) => new Spelled<FoldedResult>(text).text;

test('results are kept while there is room, and the oldest are dropped first', () => {
  const results = new ShortResults(10);
  results.keep(key('1'), textOf('aaaa'));
  results.keep(key('2'), textOf('bbbb'));
  expect([results.take(key('1')), results.take(key('2'))]).toEqual(['aaaa', 'bbbb']);
  results.keep(key('3'), textOf('ccc'));
  expect([results.take(key('1')), results.take(key('2')), results.take(key('3'))]).toEqual([null, 'bbbb', 'ccc']);
  results.clear();
  expect(results.take(key('3'))).toBeNull();
});

test('a long result is returned from memory once, and a short one any number of times', () => {
  const results = new ShortResults();
  const short = textOf('x'.repeat(64 * 1024));
  const long = textOf('x'.repeat(64 * 1024 + 1));
  results.keep(key('1'), short);
  results.keep(key('2'), long);
  expect([results.take(key('1')), results.take(key('1'))]).toEqual([short, short]);
  expect([results.take(key('2')), results.take(key('2'))]).toEqual([long, null]);
});

test('a long result frees its memory once it is returned', () => {
  const results = new ShortResults(100_000);
  results.keep(key('1'), textOf('x'.repeat(70_000)));
  results.take(key('1'));
  results.keep(key('2'), textOf('x'.repeat(70_000)));
  results.keep(key('3'), textOf('x'.repeat(30_000)));
  expect(results.take(key('2'))).toHaveLength(70_000);
});

test('the result of a removed job is dropped from memory', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const job = await runJob(store);
  await store.finish(finishOf(job));
  expect(store.shortResult(job)).toContain(job.job_id);
  await store.deleteEnded({ before: at(99), limit: 9, unattested: 'removed' });
  expect(store.shortResult(job)).toBeNull();
});
