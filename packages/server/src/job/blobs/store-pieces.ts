/**
 * Cuts arriving bytes into pieces of one size, and stores each while the next arrives. So an upload takes two pieces of memory,
 * however large it is.
 */
import { createHash } from 'node:crypto';

/** Bytes of a piece: a row of the store that is written and read whole. */
export const pieceBytes = 512 * 1024;

/** Stores the piece at a position, from 0. The bytes are not used afterwards. */
export type StorePiece = (position: number, content: Uint8Array) => Promise<void>;

/** Resolves once every piece is stored. Rejects as the chunks or `store` do. */
export async function storePieces(
  chunks: AsyncIterable<Uint8Array>,
  store: StorePiece,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  let [bytes, position] = [0, 0];
  let stored: Promise<void> = Promise.resolve();
  let piece = Buffer.allocUnsafeSlow(pieceBytes);
  let filled = 0;
  const storePiece = async (content: Uint8Array) => {
    await stored;
    stored = store(position++, content);
    // If the write fails, the next `await` of it throws.
    stored.catch(() => {});
  };
  for await (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
    for (let taken = 0; taken < chunk.length; ) {
      const count = Math.min(chunk.length - taken, pieceBytes - filled);
      piece.set(chunk.subarray(taken, taken + count), filled);
      [taken, filled] = [taken + count, filled + count];
      if (filled < pieceBytes) continue;
      await storePiece(piece);
      piece = Buffer.allocUnsafeSlow(pieceBytes);
      filled = 0;
    }
  }
  // A copy of the filled part, because a view would be sent with its whole buffer.
  if (filled > 0) await storePiece(Uint8Array.from(piece.subarray(0, filled)));
  await stored;
  return { bytes, sha256: hash.digest('hex') };
}
