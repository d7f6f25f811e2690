/** How much input the page accepts. Larger input is refused, so that no file can make the page hang. */
import { sizeText } from '@vouchbox/protocol/vocabulary';

/** The most bytes of all input together, after unpacking. Even an export with the longest history and outputs has fewer. */
export const totalBytesMax = 256 * 1024 * 1024;

/** The most entries in an archive or a directory. An export has a few dozen. */
export const entriesMax = 2000;

/** Why the input cannot be read, in words for the person who gave it. */
export class IntakeProblem extends Error {}

/** Unpacks a stream, and stops at the bound, because a small file can be unpacked to a huge one. */
export async function inflate(
  packed: Uint8Array<ArrayBuffer>,
  format: CompressionFormat,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream(format)).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new IntakeProblem('The archive is damaged: a part of it cannot be unpacked.');
    });
    if (done) break;
    length += value.length;
    if (length > bytesMax) {
      void reader.cancel();
      throw new IntakeProblem(`The archive unpacks to more than ${sizeText(totalBytesMax)}. No export is that large.`);
    }
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}
