import { expect, test, vi } from 'vitest';
import { amountOf, clockOf, durationOf, momentOf, sizeOf } from './amounts.ts';

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

test.each([
  [null, '—'],
  [1, '1 byte'],
  [1023, '1,023 bytes'],
  [1536, '1.5 KiB'],
  [2048, '2 KiB'],
  [1024 * 1024, '1 MiB'],
])('a size of %j bytes has one digit after the point, unless that is a zero', (bytes, text) => {
  expect(sizeOf(bytes)).toBe(text);
});

test('a text that is not a time is shown unchanged, and a value that is not a text is shown as an empty text', () => {
  expect(['soon', 'run 5', '2026-11-27T09:30:00 (noon) Z'].map(clockOf)).toEqual([
    'soon',
    'run 5',
    '2026-11-27T09:30:00 (noon) Z',
  ]);
  expect([momentOf('soon'), momentOf(null), momentOf({ toString: 1 })]).toEqual(['soon', '', '']);
  expect(momentOf('2026-11-27T09:30:00Z')).toMatch(/2026.*30.*(UTC|GMT|[A-Z]{3,4})/);
});

test('a browser’s language that Intl does not know, such as en-US@posix, is left out', async () => {
  vi.stubGlobal('navigator', { languages: ['en-US@posix', 'de'] });
  vi.resetModules();
  try {
    const { countOf } = await import('./amounts.ts');
    expect(countOf(1234)).toBe('1.234');
  } finally {
    vi.unstubAllGlobals();
  }
});
