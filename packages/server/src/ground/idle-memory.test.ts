import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { IdleMemory } from './idle-memory.ts';

/** How many full collections there were. V8 itself makes one only when memory runs out. */
let collections = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { flags } = (entry as PerformanceEntry & { readonly detail: { readonly flags: number } }).detail;
    if ((flags & constants.NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE) !== 0) collections++;
  }
});
observer.observe({ entryTypes: ['gc'] });
afterAll(() => observer.disconnect());
beforeEach(() => {
  collections = 0;
});

const options = { firstLookMilliseconds: 50, lookMilliseconds: 50 };

test('an idle thread collects garbage, and so returns memory', async () => {
  using _memory = new IdleMemory(options);
  await expect.poll(() => collections, { interval: 50, timeout: 10_000 }).toBeGreaterThan(0);
});

test('a busy thread does not collect garbage early', async () => {
  using _memory = new IdleMemory(options);
  for (let turns = 0; turns < 20; turns++) {
    const endsAt = performance.now() + 30;
    while (performance.now() < endsAt);
    await setImmediate();
  }
  expect(collections).toBe(0);
});
