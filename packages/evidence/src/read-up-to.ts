/** All bytes that come in pieces; null if there are more than the bound: then the rest is not read, and its source is closed. */
export async function readUpTo(
  pieces: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const read: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of (pieces ?? []) as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    bytes += piece.length;
    if (bytes > bytesMax) return null;
    read.push(piece);
  }
  return new Uint8Array(await new Blob(read).arrayBuffer());
}
