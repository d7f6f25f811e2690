import { describe, expect, test } from 'vitest';
import { parseDuration } from './duration.ts';
import { UsageError } from './usage-error.ts';

describe('a duration on the command line', () => {
  test.each([
    ['0s', 0],
    ['90s', 90_000],
    ['15m', 900_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
  ])('%s is %i milliseconds', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  test.each(['', '5', 's', '1.5h', '-1h', '1w', '1 h', '1h30m', '1e3s', '1234567890s'])(
    '%j is not a duration',
    (text) => {
      expect(() => parseDuration(text)).toThrow(UsageError);
    },
  );
});
