import type { JobDetail } from '@vouchbox/client';
import { expect, test } from 'vitest';
import { recheckMilliseconds, signingWords } from './signing-words.ts';

const unchecked = { record: undefined, isError: false, isPinned: false };
const job = (status: JobDetail['status'], available = false) =>
  ({ status, attestation: { available, key_id: null } }) as JobDetail;

test.each([
  ['running', true, 'not yet'],
  ['succeeded', true, 'not signed yet'],
  ['running', false, 'not signed'],
  ['succeeded', false, 'not signed'],
] as const)('an unsigned job with status %s (the service signs: %s) is shown as “%s”', (status, signs, word) => {
  expect(signingWords(job(status), { ...unchecked, signs }).word).toBe(word);
});

test('a signature is still checked if its service has stopped signing', () => {
  expect(signingWords(job('succeeded', true), { ...unchecked, signs: false }).word).toBe('checking…');
});

test('a late signature is requested again and again, after pauses that grow up to one minute', () => {
  const pauses = [1, 2, 3, 7, 8, 5000].map((asked) => recheckMilliseconds(job('failed'), { signs: true, asked }));
  expect(pauses).toEqual([700, 1400, 2800, 44_800, 60_000, 60_000]);
});

test('a signature is not requested while the job runs, nor after it arrived, nor from a service that signs nothing', () => {
  const asked = 1;
  expect(recheckMilliseconds(undefined, { signs: true, asked })).toBe(false);
  expect(recheckMilliseconds(job('running'), { signs: true, asked })).toBe(false);
  expect(recheckMilliseconds(job('failed', true), { signs: true, asked })).toBe(false);
  expect(recheckMilliseconds(job('failed'), { signs: false, asked })).toBe(false);
});
