/**
 * Sends a large body piece by piece: one piece of at most 64 KiB is in flight at a time, and the next is cut only when
 * the socket has taken it, so that a slow reader holds no more of a body than that. Spec § Response transfer rules.
 */
import { Readable } from 'node:stream';
import { responsePumpBytes } from '@svc/protocol';

/** What a body comes in: text, or bytes. */
type Pieces = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/**
 * A stream over a body of this many bytes. It fails where the pieces are more or fewer: then the connection ends short of
 * the length that was declared, and never behind it.
 */
export function pumpOf(pieces: Pieces, byteLength: number): Readable {
  return Readable.from(cut(pieces, byteLength), { objectMode: false, highWaterMark: responsePumpBytes });
}

/**
 * The pieces of the pump: views into what they are cut from. The last one goes out when it is known to be the last, so that
 * no client takes a body for whole that is not the one that was declared.
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
