import { expect, test } from 'vitest';
import { pieceBytes, TextBuilder } from './text-builder.ts';

const line = 'x'.repeat(pieceBytes / 2);

test('a text is built in pieces, each of which ends with a whole event', () => {
  const builder = new TextBuilder({ isList: false, from: 0, bytesMax: 4 * pieceBytes });
  for (let seq = 1; seq <= 5; seq++) builder.add(line, seq);
  const { bytes, pieces } = builder.end(5);
  expect(bytes).toBe(5 * line.length);
  expect(pieces.map(({ after, last, content }) => [after, last, content.length])).toEqual([
    [0, 2, pieceBytes],
    [2, 4, pieceBytes],
    [4, 5, pieceBytes / 2],
  ]);
});

test('a text that exceeds its bound is measured, but no more than the bound is kept in memory', () => {
  const bytesMax = 4 * pieceBytes;
  const builder = new TextBuilder({ isList: false, from: 0, bytesMax });
  for (let seq = 1; seq <= 100; seq++) {
    builder.add(line, seq);
    const held = builder.pieces.reduce((sum, { content }) => sum + content.buffer.byteLength, 0);
    expect(held).toBeLessThanOrEqual(bytesMax);
  }
  expect(builder.end(100)).toEqual({ bytes: 100 * line.length, pieces: [] });
});
