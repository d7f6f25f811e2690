import { expect, test } from 'vitest';
import { JobMemory } from './job-memory.ts';

const memory = new JobMemory({ concurrentMemMbMax: 512, cellMemMb: 36 });
const of = (...limits: number[]) => limits.map((mem_mb) => ({ mem_mb }));

test.each([
  [219, true],
  [220, true],
  [221, false],
])('a job of %i MiB fits beside a job of 220 MiB, counting the memory of both cells: %s', (mem_mb, fits) => {
  expect(memory.fits(mem_mb, of(220))).toBe(fits);
});

test('a job that may use all of the memory fits only if no other job runs', () => {
  expect(memory.fits(512, [])).toBe(true);
  expect(memory.fits(1, of(512))).toBe(false);
});

test.each([
  [511, undefined],
  [512, undefined],
  [513, 'mem_mb 513 is more than all jobs of this service may have together (512)'],
])('a job of %i MiB is refused if it exceeds the memory of all jobs together: %s', (mem_mb, message) => {
  expect(memory.excess(mem_mb)?.message).toBe(message);
});

test('a job that needs more memory than all jobs may have together neither waits for other jobs nor delays them', () => {
  expect(memory.fits(513, of(512))).toBe(true);
  expect(memory.fits(512, of(513))).toBe(true);
});
