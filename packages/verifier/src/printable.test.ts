import { describe, expect, test } from 'vitest';
import { printable } from './printable.ts';

describe('text of strangers on a terminal', () => {
  test.each([
    ['plain text stays, é and \u{1f600} too', 'plain text stays, é and \u{1f600} too'],
    ['\u001b[31m', '\\u{1b}[31m'],
    ['a\nb\r\tc', 'a\\u{a}b\\u{d}\\u{9}c'],
    ['\u009b31m', '\\u{9b}31m'],
    ['\u202egood\u2066', '\\u{202e}good\\u{2066}'],
    ['a\u2028b\u2029c', 'a\\u{2028}b\\u{2029}c'],
    ['\ud800', '\\u{d800}'],
    ['\u200b', '\\u{200b}'],
  ])('%j is shown as %j', (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  test('is cut off after 300 characters, and says so', () => {
    expect(printable('x'.repeat(299))).toBe('x'.repeat(299));
    expect(printable('x'.repeat(300))).toBe('x'.repeat(300));
    expect(printable('x'.repeat(301))).toBe(`${'x'.repeat(300)}…`);
    expect(printable('\u{1f600}'.repeat(301))).toBe(`${'\u{1f600}'.repeat(300)}…`);
  });
});
