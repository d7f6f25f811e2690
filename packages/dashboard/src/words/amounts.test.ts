import { expect, test } from 'vitest';
import { amountOf } from './amounts.ts';

test.each([
  [0, '0 lines'],
  [1, '1 line'],
  [2, '2 lines'],
  [12, '12 lines'],
])('an amount of %i names one thing in the singular and any other number in the plural', (count, text) => {
  expect(amountOf(count, 'line')).toBe(text);
});
