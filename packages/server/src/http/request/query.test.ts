import { ListQuery, ReplayQuery, ResultQuery, waitSecondsMax } from '@vouchbox/protocol';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { readQuery } from './query.ts';

const seed = inject('propertySeed');

/** Every way in which a client may write a number that is not negative. */
function spellings(value: number): fc.Arbitrary<string> {
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const pointed = digits.includes('.') ? digits : `${digits}.`;
  return fc.constantFrom(
    String(value),
    value.toFixed(25),
    `${digits}e${exponent}`,
    `${pointed}E${exponent}`,
    `0${value.toFixed(30)}`,
    value.toFixed(30).replace(/^0\./, '.'),
  );
}

describe('a number of seconds in the query', () => {
  const read = (query: unknown) => readQuery(ResultQuery, query);
  const seconds = fc.double({ min: 0, max: waitSecondsMax, noNaN: true });

  test('is accepted from 0 to 300 in every spelling, and is read as the same double', { tags: ['GetResult-2'] }, () => {
    const spelled = seconds.chain((value) => spellings(value).map((text) => ({ value, text })));
    fc.assert(
      fc.property(spelled, ({ value, text }) => {
        expect(read({ wait_seconds: text }).wait_seconds).toBe(Math.abs(Number(text)));
        expect(read({ wait_seconds: String(value) }).wait_seconds).toBe(Math.abs(value));
      }),
      { seed, numRuns: 2000 },
    );
  });

  test('is refused below 0 and above 300, however small the difference', { tags: ['GetResult-2', 'Limits-13'] }, () => {
    const outside = fc.oneof(
      fc.double({ min: waitSecondsMax, minExcluded: true, noNaN: true }),
      fc.double({ max: -Number.MIN_VALUE, noNaN: true }),
    );
    fc.assert(
      fc.property(outside, (value) => {
        expect(() => read({ wait_seconds: String(value) })).toThrow('must be a number from 0 to 300');
      }),
      { seed, numRuns: 2000 },
    );
  });

  test('is refused if the text is not a number', { tags: ['GetResult-2'] }, () => {
    const isNumber = (text: string) => /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9.eE_xn ]{1,6}$/)).filter((text) => !isNumber(text));
    fc.assert(
      fc.property(texts, (text) => {
        expect(() => read({ wait_seconds: text })).toThrow('must be a number');
      }),
      { seed, numRuns: 2000 },
    );
  });
});

test('a parameter that was not sent has the contract’s default, or is left out', () => {
  expect(readQuery(ListQuery, {})).toEqual({ limit: 50 });
  expect(readQuery(ReplayQuery, {})).toEqual({ after: 0, limit: 500, wait_seconds: 0, include: [] });
  expect(readQuery(ResultQuery, {})).toEqual({ wait_seconds: 0 });
});

test('a list accepts a label of 1 to 64 characters, just like a job', () => {
  const label = '🎓'.repeat(64);
  expect(readQuery(ListQuery, { label })).toMatchObject({ label });
  for (const other of ['', `${label}🎓`]) expect(() => readQuery(ListQuery, { label: other })).toThrow('is malformed');
});
