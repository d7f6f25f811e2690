import { describe, expect, test } from 'vitest';
import { decodeBase64, encodeBase64 } from './base64.ts';
import { decodePortable, encodePortable } from './base64-portable.ts';

describe('base64 (RFC 4648)', () => {
  test('decodes what it encodes, for every length up to 66', () => {
    for (let length = 0; length <= 66; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 89 + length * 7) & 255);
      expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes);
      expect(encodePortable(bytes)).toBe(encodeBase64(bytes));
      expect(decodePortable(encodePortable(bytes))).toEqual(bytes);
    }
  });

  test('decodes both alphabets', () => {
    expect(decodeBase64('+/+/')).toEqual(decodeBase64('-_-_'));
    expect(decodePortable('-_-_')).toEqual(decodeBase64('+/+/'));
  });

  test.each([
    ['mixed alphabets', '+/-_'],
    ['missing padding', 'YQ'],
    ['half the padding', 'YQ='],
    ['too much padding', 'YQ==='],
    ['padding in the middle', 'YQ==YQ=='],
    ['non-zero pad bits', 'YR=='],
    ['a line feed', 'YWJj\nYWJj'],
    ['a trailing space', 'YWJj '],
    ['garbage at the end', 'YWJj$$'],
    ['a lone character', 'A'],
    ['other letters', 'Yé=='],
  ])('refuses %s', (_name, text) => {
    expect(decodeBase64(text)).toBeNull();
  });

  test.each(['YQ', 'YQ=', 'YR==', 'YWJ', 'A', 'YQ===', 'AB='])('refuses %s in the portable decoder too', (text) => {
    expect(decodePortable(text)).toBeNull();
    expect(decodeBase64(text)).toBeNull();
  });

  test('encodes more bytes than a function may have arguments', () => {
    const bytes = new Uint8Array(300_000).fill(0xa5);
    expect(encodePortable(bytes)).toBe(encodeBase64(bytes));
  });
});
