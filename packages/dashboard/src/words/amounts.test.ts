import { expect, test } from 'vitest';
import { amountOf, durationOf } from './amounts.ts';

test.each([
  [0, '0 lines'],
  [1, '1 line'],
  [2, '2 lines'],
  [12, '12 lines'],
])('an amount of %i names one thing in the singular and any other number in the plural', (count, text) => {
  expect(amountOf(count, 'line')).toBe(text);
});

test.each([
  [59_400, '59.4 s'],
  [59_960, '1 min'],
  [61_000, '1 min 1 s'],
  [119_700, '2 min'],
])('a duration of %i milliseconds has no part that is zero or too large', (milliseconds, text) => {
  expect(durationOf(milliseconds)).toBe(text);
});
