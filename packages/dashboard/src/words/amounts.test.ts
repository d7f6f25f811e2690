import { expect, test } from 'vitest';
import { amountOf, durationOf } from './amounts.ts';

test.each([
  [0, '0 lines'],
  [1, '1 line'],
  [2, '2 lines'],
  [12, '12 lines'],
])('an amount of %i has a noun in the singular only if the amount is 1', (count, text) => {
  expect(amountOf(count, 'line')).toBe(text);
});

test.each([
  [59_400, '59.4 s'],
  [59_960, '1 min'],
  [61_000, '1 min 1 s'],
  [119_700, '2 min'],
])('a duration of %i milliseconds is shown without zero parts, and without 60 seconds', (milliseconds, text) => {
  expect(durationOf(milliseconds)).toBe(text);
});
