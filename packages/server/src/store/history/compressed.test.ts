import { expect, test } from 'vitest';
import { compressed, expanded, isCompressed } from './compressed.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

test('bytes that repeat themselves are stored compressed, and read as they were', () => {
  const bytes = bytesOf('["a line of output"]\n'.repeat(1000));
  const stored = compressed(bytes);
  expect(isCompressed(stored)).toBe(true);
  expect(stored.length).toBeLessThan(bytes.length / 10);
  expect(Buffer.from(expanded(stored, bytes.length)).equals(bytes)).toBe(true);
});

test('few bytes, and bytes that do not get smaller, are stored as they are', () => {
  const few = bytesOf('{"a":1}');
  const random = crypto.getRandomValues(new Uint8Array(10_000));
  random[0] = 0x7b;
  for (const bytes of [few, random]) {
    expect(compressed(bytes)).toBe(bytes);
    expect(expanded(bytes, bytes.length)).toBe(bytes);
  }
});

test('a frame that holds more than it was told to, or that is cut, is not read', () => {
  const stored = compressed(bytesOf('x'.repeat(100_000)));
  expect(() => expanded(stored, 99_999)).toThrow(/larger than/);
  expect(() => expanded(stored.subarray(0, -1), 100_000)).toThrow(/unexpected end/i);
});
