import { expect, test } from 'vitest';
import { bytesOfPieces } from './text-bytes.ts';

const MIB = 2 ** 20;
const PIECES: Readonly<Record<string, readonly string[]>> = {
  'no piece': [],
  'short pieces': ['a', '', 'é', '\u{1f600}'],
  'pieces that are short together': ['x'.repeat(MIB), '€'.repeat(MIB)],
  'pieces that are long together': ['x'.repeat(MIB), '€'.repeat(MIB), '!'],
  'one piece that is long': ['\u{1f600}é'.repeat(MIB)],
};

test.each(Object.entries(PIECES))('the bytes of %s equal the bytes of the joined text', (_what, pieces) => {
  const bytes = bytesOfPieces(() => pieces);
  expect(Buffer.from(bytes).equals(Buffer.from(pieces.join('')))).toBe(true);
  expect(bytes.buffer.byteLength).toBe(bytes.length);
});
