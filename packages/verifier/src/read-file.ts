/**
 * Reads a file that the command line names: once, whole and bounded. So the digested bytes are the bytes that are parsed, and
 * pipes and `/dev/stdin` work like files.
 */
import { Buffer } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import { sizeText } from '@vouchbox/protocol/vocabulary';
import { UsageError } from './usage-error.ts';

const CHUNK_BYTES = 64 * 1024;

/** The bytes of a file, or null if it has more than `bytesMax`. A file that cannot be read causes a `UsageError`. */
export function readBounded(path: string, bytesMax: number): Uint8Array<ArrayBuffer> | null {
  try {
    const descriptor = openSync(path, 'r');
    try {
      return readDescriptor(descriptor, bytesMax);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** The bytes of a file. A file that has more than `bytesMax`, or that cannot be read, causes a `UsageError`. */
export function readWhole(path: string, bytesMax: number): Uint8Array<ArrayBuffer> {
  const bytes = readBounded(path, bytesMax);
  if (bytes === null) throw new UsageError(`${path} is larger than ${sizeText(bytesMax)}`);
  return bytes;
}

/** The bytes from the descriptor's position to its end, or null if there are more than `bytesMax`. */
function readDescriptor(descriptor: number, bytesMax: number): Uint8Array<ArrayBuffer> | null {
  const chunks: Buffer[] = [];
  let total = 0;
  for (const piece of piecesOf(descriptor)) {
    total += piece.length;
    if (total > bytesMax) return null;
    chunks.push(Buffer.from(piece));
  }
  return new Uint8Array(Buffer.concat(chunks, total));
}

/** The bytes from the descriptor's position to its end. A piece is valid until the next piece is requested. */
export function* piecesOf(descriptor: number): Generator<Uint8Array, void> {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (;;) {
    const count = readSync(descriptor, chunk, 0, CHUNK_BYTES, null);
    if (count === 0) return;
    yield chunk.subarray(0, count);
  }
}
