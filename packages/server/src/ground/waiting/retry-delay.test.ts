import { expect, test } from 'vitest';
import { retryDelay } from './retry-delay.ts';

test('the maximum wait before a retry doubles with each failure, up to five minutes', () => {
  const longest = [1, 2, 3, 8, 9, 10, 1000].map((failures) => retryDelay(failures, () => 1));
  expect(longest).toEqual([1000, 2000, 4000, 128_000, 256_000, 300_000, 300_000]);
});

test('each wait is random between half its maximum and its maximum, so that failed jobs are not retried together', () => {
  expect(retryDelay(3, () => 0)).toBe(2000);
  const waits = Array.from({ length: 100 }, () => retryDelay(5));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(8000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(16_000);
  expect(new Set(waits).size).toBeGreaterThan(50);
});
