import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { pieceBytes, storePieces } from './store-pieces.ts';

async function* chunks(content: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < content.length; start += length) yield content.subarray(start, start + length);
}

test.each([0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes + 7])(
  '%i bytes are stored in order, however they are cut into chunks',
  async (length) => {
    const content = Uint8Array.from({ length }, (_, at) => at % 251);
    for (const chunkLength of [pieceBytes + 3, 65_536, 2 * pieceBytes]) {
      const pieces: Uint8Array[] = [];
      const stored = await storePieces(chunks(content, chunkLength), async (position, piece) => {
        expect(position).toBe(pieces.length);
        pieces.push(piece);
      });
      expect(Buffer.concat(pieces).equals(content)).toBe(true);
      expect(pieces.slice(0, -1).every((piece) => piece.length === pieceBytes)).toBe(true);
      // A view would be cloned together with its whole buffer.
      expect(pieces.every((piece) => piece.buffer.byteLength === piece.length)).toBe(true);
      expect(stored).toEqual({ bytes: length, sha256: createHash('sha256').update(content).digest('hex') });
    }
  },
);

test('at most one piece waits to be stored, and no chunk is read while a piece waits', async () => {
  const held = Promise.withResolvers<void>();
  let taken = 0;
  async function* counted() {
    for (let count = 0; count < 5; count++) {
      taken++;
      yield new Uint8Array(pieceBytes);
    }
  }
  const storing = storePieces(counted(), () => held.promise);
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toBe(2);
  held.resolve();
  expect((await storing).bytes).toBe(5 * pieceBytes);
});

test('a piece that cannot be stored ends the upload', async () => {
  const refused = storePieces(chunks(new Uint8Array(3 * pieceBytes), pieceBytes), () =>
    Promise.reject(new Error('no room')),
  );
  await expect(refused).rejects.toThrow('no room');
});
