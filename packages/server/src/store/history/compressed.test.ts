import { expect, test } from 'vitest';
import { compressed, expanded, isCompressed } from './compressed.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

test('repetitive bytes are stored compressed, and read unchanged', () => {
  const bytes = bytesOf('["a line of output"]\n'.repeat(1000));
  const stored = compressed(bytes);
  expect(isCompressed(stored)).toBe(true);
  expect(stored.length).toBeLessThan(bytes.length / 10);
  expect(Buffer.from(expanded(stored, bytes.length)).equals(bytes)).toBe(true);
});

test('compressed bytes are expanded into a buffer of their stated size', () => {
  const bytes = bytesOf('x'.repeat(100_000));
  expect(expanded(compressed(bytes), bytes.length).buffer.byteLength).toBe(bytes.length + 1);
  const long = bytesOf('x'.repeat(3 * 2 ** 20));
  expect(Buffer.from(expanded(compressed(long), long.length)).equals(long)).toBe(true);
});

test('short texts and texts that do not shrink are stored uncompressed', () => {
  const few = bytesOf('{"a":1}');
  const random = crypto.getRandomValues(new Uint8Array(10_000));
  random[0] = 0x7b;
  for (const bytes of [few, random]) {
    expect(compressed(bytes)).toBe(bytes);
    expect(expanded(bytes, bytes.length)).toBe(bytes);
  }
});

test('compressed bytes that are cut off or longer than stated are refused', () => {
  const stored = compressed(bytesOf('x'.repeat(100_000)));
  expect(() => expanded(stored, 99_999)).toThrow(/larger than/);
  expect(() => expanded(stored.subarray(0, -1), 100_000)).toThrow(/unexpected end/i);
});
