/** A blob's content, piece by piece. The digest is compared before the last piece, so nobody gets all of a changed blob. */
import { createHash } from 'node:crypto';
import type { BlobKey } from '../store/blobs/blobs.ts';
import type { StoredBlobRow } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';

/** Reads a whole blob. The generator throws if the blob was removed meanwhile, or differs from what was uploaded. */
export async function* blobContent(
  store: Pick<Store, 'blobPiece'>,
  { tenant, sha256, blob_id, size_bytes }: BlobKey & StoredBlobRow,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let left = size_bytes;
  for (let position = 0; left > 0; position++) {
    const piece = await store.blobPiece({ tenant, blob_id, position });
    if (piece === null) throw new Error(`the blob ${sha256} was removed while it was read`);
    left -= piece.length;
    hash.update(piece);
    if (left <= 0 && hash.digest('hex') !== sha256) throw new Error(`the blob ${sha256} is damaged in the store`);
    yield piece;
  }
}
