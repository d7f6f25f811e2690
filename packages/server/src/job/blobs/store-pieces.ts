/**
 * Cuts arriving bytes into pieces of one size, and stores each piece while the next arrives. So an upload needs memory for only
 * two pieces, however large it is.
 */
import { createHash } from 'node:crypto';

/** How many bytes a piece has. A piece is a row in the store, and is written and read whole. */
export const pieceBytes = 512 * 1024;

/** Stores the piece at a position, counted from 0. The caller does not use the bytes afterwards. */
export type StorePiece = (position: number, content: Uint8Array) => Promise<void>;

/** Resolves once every piece is stored. Rejects if the chunks or `store` do. */
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
    // If the write fails, the next `await stored` throws.
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
  // Only the filled part, copied, because a view would be sent with its whole buffer.
  if (filled > 0) await storePiece(Uint8Array.from(piece.subarray(0, filled)));
  await stored;
  return { bytes, sha256: hash.digest('hex') };
}
