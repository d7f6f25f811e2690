import { expect, test } from 'vitest';
import { isoTime } from './iso-time.ts';

test.each([
  0, 1, 999, 1000, 1_763_762_400_007, 1_763_762_400_070, 1_763_762_400_700, 1_763_762_401_000, 4_102_444_799_999,
])('the millisecond %i is written just as Date writes it, whatever was written before', (now) => {
  expect(isoTime(now)).toBe(new Date(now).toISOString());
  expect(isoTime(now + 1)).toBe(new Date(now + 1).toISOString());
});

test('without a given time, the current time is written', () => {
  const before = Date.now();
  const told = Date.parse(isoTime());
  expect(told).toBeGreaterThanOrEqual(before);
  expect(told).toBeLessThanOrEqual(Date.now());
});
