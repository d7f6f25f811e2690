/** Whether the tenant has the blobs that a submission names, and whether they are too large together. Spec § Limits. */
import { namedFilesTotalBytesMax, type SubmittedFile } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import { digestsNamed } from '../../store/blobs/digests-named.ts';
import type { Store } from '../../store/store.ts';
import { refusal } from './refuse.ts';

interface Submitted {
  readonly tenant: string;
  readonly files: readonly SubmittedFile[];
}

/** @throws ServiceError `blob_unavailable` or `payload_too_large` */
export async function checkBlobs(
  { tenant, files }: Submitted,
  { store }: { readonly store: Pick<Store, 'blobSizes'> },
): Promise<void> {
  const digests = digestsNamed(files);
  if (digests.length === 0) return;
  const found = await store.blobSizes({ tenant, digests });
  const sizes = new Map(digests.map((sha256, index) => [`sha256:${sha256}`, found[index] ?? null]));
  let total = 0;
  for (const [index, file] of files.entries()) {
    const size = 'blob' in file ? sizes.get(file.blob) : Buffer.byteLength(file.content_base64, 'base64');
    if (size == null) throw refusal('blob_unavailable', `/files/${index}/blob`, 'is not a blob of the tenant');
    total += size;
  }
  if (total <= namedFilesTotalBytesMax) return;
  const problem = `have ${total} bytes together; at most ${namedFilesTotalBytesMax} are allowed`;
  throw refusal('payload_too_large', '/files', problem);
}

/** A blob was removed between the check and the transaction that stores the job. */
export function blobUnavailable(): ServiceError {
  return new ServiceError('blob_unavailable', 'A blob that a file names is not there any more.');
}
