/**
 * Compresses stored bytes if that saves room, as it does for most programs' output. Fewer bytes must then be synced, moved into
 * the database and read. The format is Zstandard, RFC 8878, at its fastest level.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** The least size to compress, in bytes. Compressing a shorter text takes longer than writing it. */
const compressedBytesMin = 1024;
/** The first bytes of a compressed frame, RFC 8878 § 3.1.1. No JSON text begins with them. */
const MAGIC = [0x28, 0xb5, 0x2f, 0xfd] as const;

/** The largest piece in which a frame is expanded; the frame's stated size may be wrong. */
const pieceBytesMax = 2 ** 20;
/** The smallest piece that Node accepts. */
const pieceBytesMin = 64;

const params = { [constants.ZSTD_c_compressionLevel]: 1 };

/** The bytes to store for a JSON text, or for a text that begins like JSON. */
export function compressed(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (bytes.length < compressedBytesMin) return bytes;
  const frame = zstdCompressSync(bytes, { params, pledgedSrcSize: bytes.length });
  return frame.length < bytes.length ? new Uint8Array(frame) : bytes;
}

/** The original bytes. @throws Error if the stored bytes are not a whole frame, or the original exceeds `bytesMax` bytes. */
export function expanded(bytes: Uint8Array, bytesMax: number): Uint8Array {
  if (!isCompressed(bytes)) return bytes;
  // Expands into one piece with room to spare: Node would allocate another piece if the first were full.
  const chunkSize = Math.min(Math.max(bytesMax, pieceBytesMin) + 1, pieceBytesMax);
  return zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, bytesMax), chunkSize });
}

/** Whether stored bytes are a compressed frame. */
export function isCompressed(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, at) => bytes[at] === byte);
}
