/**
 * Sends a large body piece by piece. One piece of at most 64 KiB is in flight at a time. The next piece is cut only when the
 * socket has taken it, so a slow reader holds at most one piece of a body. Spec § Response transfer rules.
 */
import { Readable } from 'node:stream';
import { responsePumpBytes } from '@vouchbox/protocol';

/** The pieces of a body: text, or bytes. */
type Pieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/**
 * A stream over a body of this many bytes. It fails if the pieces together have more or fewer bytes. The connection then always
 * ends before the declared length is reached.
 */
export function pumpOf(pieces: Pieces, byteLength: number): Readable {
  return Readable.from(cut(pieces, byteLength), { objectMode: false, highWaterMark: responsePumpBytes });
}

/**
 * The pieces that the pump sends: views into the body's own pieces. The last piece is held back until it is known to be the
 * last, so that no client mistakes a body of the wrong length for a complete one.
 */
async function* cut(pieces: Pieces, byteLength: number): AsyncGenerator<Uint8Array> {
  let left = byteLength;
  let next: Uint8Array | null = null;
  for await (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    left -= bytes.length;
    if (left < 0) throw new Error('a body is longer than was declared');
    for (let offset = 0; offset < bytes.length; offset += responsePumpBytes) {
      if (next !== null) yield next;
      next = bytes.subarray(offset, offset + responsePumpBytes);
    }
  }
  if (left > 0) throw new Error('a body is shorter than was declared');
  if (next !== null) yield next;
}
