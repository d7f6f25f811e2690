import { expect, test } from 'vitest';
import { Pace } from './pace.ts';

/** A pace after so many calls, one after each pause. */
function after(calls: number, pauseMilliseconds: number, pace = new Pace()): Pace {
  for (let call = 0; call < calls; call++) {
    now += pauseMilliseconds;
    pace.note(now);
  }
  return pace;
}
let now = 0;

test('calls are close once many came closely, and no longer after a few that did not', () => {
  expect(new Pace().isCloserThan(5)).toBe(false);
  expect(after(5, 2).isCloserThan(5)).toBe(false);
  const busy = after(40, 2);
  expect(busy.isCloserThan(5)).toBe(true);
  expect(after(2, 1000, busy).isCloserThan(5)).toBe(false);
});

test('calls that come more slowly than asked are never close', () => {
  expect(after(1000, 8).isCloserThan(5)).toBe(false);
});
