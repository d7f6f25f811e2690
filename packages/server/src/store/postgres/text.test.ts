import * as fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { fromStoredText, toStoredText } from './text.ts';

/** Texts with many characters that are stored in another form. */
const text = fc.string({ unit: fc.constantFrom('\u0000', '\u0001', '\u0002', 'a', 'é', '\u{10ffff}') });

test('every text is stored without U+0000 and comes back unchanged, in the same order', () => {
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(toStoredText(one)).not.toContain('\u0000');
      expect(fromStoredText(toStoredText(one))).toBe(one);
      expect(order(toStoredText(one), toStoredText(other))).toBe(order(one, other));
    }),
    { seed: inject('propertySeed') },
  );
});

test('a JSON text is stored unchanged, to the byte', () => {
  const json = JSON.stringify({ text: '\u0000\u0001' });
  expect(toStoredText(json)).toBe(json);
});

function order(one: string, other: string): number {
  return Math.sign(Buffer.compare(Buffer.from(one), Buffer.from(other)));
}
