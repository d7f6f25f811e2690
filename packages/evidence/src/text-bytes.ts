/**
 * The UTF-8 bytes of a text that comes in pieces. The pieces of a long text are made twice, once to count their bytes and once to
 * write them. So the bytes are allocated once, and the whole text is never in memory beside them.
 */

/** The length from which a text is long, in UTF-16 units. A shorter text is encoded as a whole, in half the time. */
const longTextMin = 2 * 2 ** 20;
const scratchBytes = 64 * 1024;

/**
 * The bytes of all pieces, one after the other.
 *
 * @param pieces gives the same pieces each time. No surrogate pair may extend over two of them.
 */
export function bytesOfPieces(pieces: () => Iterable<string>): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const text = shortText(pieces());
  if (text !== null) return encoder.encode(text);
  const scratch = new Uint8Array(scratchBytes);
  let length = 0;
  for (const piece of pieces()) length += encodedLength(piece, encoder, scratch);
  const bytes = new Uint8Array(length);
  let written = 0;
  for (const piece of pieces()) written += encoder.encodeInto(piece, bytes.subarray(written)).written;
  return bytes;
}

/** The whole text if it is short; otherwise null. */
function shortText(pieces: Iterable<string>): string | null {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length > longTextMin) return null;
  }
  return text;
}

function encodedLength(text: string, encoder: TextEncoder, scratch: Uint8Array): number {
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const { read, written } = encoder.encodeInto(text.slice(at), scratch);
    at += read;
    length += written;
  }
  return length;
}
