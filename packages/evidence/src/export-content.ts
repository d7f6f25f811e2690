/** A file of an export: its bytes, or only its digest and size, because an uploaded file may have 64 MiB. */
import { runningSha256, sha256Hex } from '#sha256';

/** What is known about a file that is not kept in memory. */
export interface FileDigest {
  readonly size_bytes: number;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

export type ExportContent = Uint8Array<ArrayBufferLike> | FileDigest;

export function digestOf(content: ExportContent): FileDigest {
  if (!(content instanceof Uint8Array)) return { size_bytes: content.size_bytes, sha256: content.sha256 };
  return { size_bytes: content.length, sha256: sha256Hex(content) };
}

/** Digests a file that comes in pieces, without keeping the pieces. */
export async function digestPieces(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<FileDigest> {
  const running = runningSha256();
  let size_bytes = 0;
  for await (const piece of pieces) {
    running.update(piece);
    size_bytes += piece.length;
  }
  return { size_bytes, sha256: running.hex() };
}
