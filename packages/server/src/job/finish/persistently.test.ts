import { expect, test, vi } from 'vitest';
import { StoreError } from '../../store/store-error.ts';
import { persistently } from './persistently.ts';

const never = new AbortController().signal;

test('a write that fails at first is repeated until it succeeds', async () => {
  const failures: unknown[] = [];
  let attempts = 0;
  const attempt = () => (++attempts < 3 ? Promise.reject(new Error(`${attempts}`)) : Promise.resolve('stored'));
  const options = { signal: never, attemptsMax: 9, failed: (error: unknown) => failures.push(error) };
  expect(await persistently(attempt, options)).toBe('stored');
  expect(failures).toEqual([new Error('1'), new Error('2')]);
});

test('a write that never succeeds throws the error of its last attempt', async () => {
  let attempts = 0;
  const attempt = () => Promise.reject(new Error(`${++attempts}`));
  await expect(persistently(attempt, { signal: never, attemptsMax: 2, failed: () => {} })).rejects.toThrow('2');
});

test('a write waits for room on a full disk, and the wait does not count as a failed attempt', async () => {
  let attempts = 0;
  const attempt = () =>
    ++attempts < 3 ? Promise.reject(new StoreError('full', 'no space is left')) : Promise.resolve('stored');
  expect(await persistently(attempt, { signal: never, attemptsMax: 1, failed: () => {} })).toBe('stored');
});

test('the pauses between the attempts at a write double, up to five seconds', async () => {
  vi.useFakeTimers();
  try {
    const start = Date.now();
    const tries: number[] = [];
    const attempt = () => Promise.reject(new Error(`${tries.push(Date.now() - start)}`));
    const settled = persistently(attempt, { signal: never, attemptsMax: 9, failed: () => {} }).catch(String);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await settled).toBe('Error: 9');
    expect(tries).toEqual([0, 100, 300, 700, 1500, 3100, 6300, 11_300, 16_300]);
  } finally {
    vi.useRealTimers();
  }
});

test('a write that is aborted makes no more attempts', async () => {
  const controller = new AbortController();
  let attempts = 0;
  const attempt = () => Promise.reject(new Error(`${++attempts}`));
  const failed = () => controller.abort();
  const options = { signal: controller.signal, attemptsMax: Number.POSITIVE_INFINITY, failed };
  await expect(persistently(attempt, options)).rejects.toThrow('1');
});
