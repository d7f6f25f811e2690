import { expect, test } from 'vitest';
import { startClock } from './clock.ts';

test("the clock of a job never shows a time before its start, even if the host's clock was set back", () => {
  const beginning = '2126-01-01T00:00:00.000Z';
  expect(startClock(beginning).timestamp() >= beginning).toBe(true);
});

test('the clock of a job never runs backwards', { tags: ['CHAIN-08'] }, () => {
  const clock = startClock('2026-01-01T00:00:00.000Z');
  const times = Array.from({ length: 1000 }, () => clock.timestamp());
  expect(times.toSorted()).toEqual(times);
  expect(clock.elapsedMilliseconds()).toBeGreaterThanOrEqual(0);
});
