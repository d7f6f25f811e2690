import { expect, test } from 'vitest';
import { sizeText } from './size-text.ts';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [4096, '4 KiB'],
  [1024 ** 2, '1 MiB'],
  [64 * 1024 ** 2, '64 MiB'],
  [64 * 1024 ** 2 + 1, '67108865 bytes'],
  [1024 ** 3, '1 GiB'],
])('%d bytes are written as %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
