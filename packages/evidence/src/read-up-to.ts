/** Joins all pieces in a new buffer. If there are more than `bytesMax` bytes, closes the source and returns null. */
export async function readUpTo(
  pieces: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const whole = new Uint8Array(bytesMax);
  let bytes = 0;
  for await (const piece of (pieces ?? []) as AsyncIterable<Uint8Array>) {
    if (bytes + piece.length > bytesMax) return null;
    whole.set(piece, bytes);
    bytes += piece.length;
  }
  return whole.slice(0, bytes);
}
