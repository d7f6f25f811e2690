/**
 * Sends a large body piece by piece: one piece of at most 64 KiB is in flight at a time, and the next is cut only when
 * the socket has taken it, so that a slow reader holds the one body it was admitted for and no copies of it.
 * Spec § Response transfer rules.
 */
import { Readable } from 'node:stream';
import { responsePumpBytes } from '@svc/protocol';

/** A stream over `body`. The pieces are views into it. */
export function pumpOf(body: Buffer): Readable {
  let offset = 0;
  return new Readable({
    highWaterMark: responsePumpBytes,
    read() {
      const piece = body.subarray(offset, offset + responsePumpBytes);
      offset += piece.length;
      this.push(piece.length === 0 ? null : piece);
    },
  });
}
