import { expect, test } from 'vitest';
import { startClock } from './clock.ts';

test("a clock never returns a time before its start, even if the host's clock was set back", () => {
  const beginning = '2126-01-01T00:00:00.000Z';
  expect(startClock(beginning).timestamp() >= beginning).toBe(true);
});

test('a clock never runs backwards', { tags: ['CHAIN-08'] }, () => {
  const clock = startClock('2026-01-01T00:00:00.000Z');
  const times = Array.from({ length: 1000 }, () => clock.timestamp());
  expect(times.toSorted()).toEqual(times);
  expect(clock.elapsedMilliseconds()).toBeGreaterThanOrEqual(0);
});
