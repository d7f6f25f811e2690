/** The parts of an answer that are read from the store while it is sent. */
import type { ArtifactRecord } from '@svc/protocol';
import type { JobKey, LongTextKind, TextExtent } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { LongPart, Part } from '../body.ts';

type Pieces = Pick<Store, 'textPiece' | 'artifactPiece'>;

/** Bytes of an artifact that are read at once: a multiple of three, so that their base64 has no padding but at the end. */
const artifactPieceBytes = 96 * 1024;

/** A text of the store as a part; the whole of it where the extent has it. */
export function textPart(
  store: Pieces,
  key: JobKey,
  { kind, extent }: { kind: LongTextKind; extent: TextExtent },
): Part {
  const { text, bytes, from, until } = extent;
  if (text !== null) return text;
  return {
    bytes,
    async *pieces() {
      for (let after = from; after < until; ) {
        const piece = await store.textPiece({ key, kind, from, after, until });
        if (piece === null) throw gone(key);
        yield piece.content;
        after = piece.last;
      }
    },
  };
}

/** The content of an artifact, in base64. RFC 4648 § 4. */
export function base64Part(store: Pieces, key: JobKey, { path, size_bytes }: ArtifactRecord): LongPart {
  return {
    bytes: Math.ceil(size_bytes / 3) * 4,
    async *pieces() {
      for (let offset = 0; offset < size_bytes; offset += artifactPieceBytes) {
        const piece = await store.artifactPiece({ key, path, offset, bytes: artifactPieceBytes });
        if (piece === null) throw gone(key);
        yield Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('base64');
      }
    },
  };
}

/** Whoever reads it gets less than was declared, and must not take it for an answer. */
function gone({ job_id }: JobKey): Error {
  return new Error(`the job ${job_id} was removed while an answer about it was sent`);
}
