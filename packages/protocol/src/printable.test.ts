import { describe, expect, test } from 'vitest';
import { printable, printableJson, printableText } from './printable.ts';

describe('untrusted text shown on one line', () => {
  test.each([
    ['plain text stays, é and \u{1f600} too', 'plain text stays, é and \u{1f600} too'],
    ['\u001b[31m', '\\u{1b}[31m'],
    ['a\nb\r\tc', 'a\\u{a}b\\u{d}\\u{9}c'],
    ['\u009b31m', '\\u{9b}31m'],
    ['\u202egood\u2066', '\\u{202e}good\\u{2066}'],
    ['a\u2028b\u2029c', 'a\\u{2028}b\\u{2029}c'],
    ['\ud800', '\\u{d800}'],
    ['\u200b', '\\u{200b}'],
    ['\u{e0001}', '\\u{e0001}'],
  ])('is escaped: %j becomes %j', (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  test('is cut after the given number of characters, and the cut is marked', () => {
    expect(printable('x'.repeat(299))).toBe('x'.repeat(299));
    expect(printable('x'.repeat(300))).toBe('x'.repeat(300));
    expect(printable('x'.repeat(301))).toBe(`${'x'.repeat(300)}…`);
    expect(printable('\u{1f600}'.repeat(301))).toBe(`${'\u{1f600}'.repeat(300)}…`);
    expect(printable('xyz', 2)).toBe('xy…');
  });
});

test('untrusted text shown on many lines keeps line feeds and tabs, escapes other controls, and is never cut', () => {
  expect(printableText('a\n\tb\r\n\u001b[2J\u009b2J\u202e')).toBe('a\n\tb\\u{d}\n\\u{1b}[2J\\u{9b}2J\\u{202e}');
  expect(printableText('x'.repeat(100_000))).toHaveLength(100_000);
});

test('an untrusted value written as JSON has no unsafe character, and parses to the same value', () => {
  const value = { a: ['\u001b\u007f\u009b\u202e\u2028\u{e0001}\ud800\n é'], '\u0085': null };
  for (const indent of [undefined, 2]) {
    const text = printableJson(value, indent);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/[^\n -~é]/);
  }
});
