/** Tells which blobs a specification names, from its text alone. */
import type { HeldFile, ResolvedOutput, StoredFile, UploadedFile } from '@vouchbox/protocol';
import type { JobKey } from '../records/rows.ts';

/** A file whose content is not in the specification. */
export type NamedFile = UploadedFile | ResolvedOutput | HeldFile;

export function isNamed(file: StoredFile): file is NamedFile {
  return 'blob' in file;
}

export function isOutput(file: StoredFile): file is ResolvedOutput {
  return 'from' in file;
}

/** Whether a file is an input that only the service can name. */
export function isHeld(file: StoredFile): file is HeldFile {
  return 'held' in file;
}

/** The names by which to find the blobs of a specification's files, each once. */
export function blobsNamed(files: readonly StoredFile[]): readonly string[] {
  return [...new Set(files.filter(isNamed).map(blobNameOf))];
}

/** The name by which to find the blob of a file: the digest of an upload, or a word and the digest of a copy. */
export function blobNameOf(file: NamedFile): string {
  if (isHeld(file)) return heldNameOf(digestOf(file));
  return isOutput(file) ? copyNameOf(digestOf(file)) : digestOf(file);
}

/**
 * The name of an output's copy, which is kept for the jobs that name the output. This name is not a digest, so a digest finds
 * only uploads, never the copy. Only a caller that can name the output gets its bytes.
 */
export function copyNameOf(sha256: string): string {
  return `output:${sha256}`;
}

/**
 * The name of a blob that a grading holds. This name is not a digest either. Only gradings hold such blobs, and these do not
 * count as the tenant's uploads.
 */
export function heldNameOf(sha256: string): string {
  return `${HELD}${sha256}`;
}

export const HELD = 'held:';

/** The digest of an upload, as 64 hex digits. */
export function digestOf({ blob }: Pick<UploadedFile, 'blob'>): string {
  return blob.slice('sha256:'.length);
}

/** The upload that holds the pieces of a job's output. `place` is the output's place in the request. */
export function roomOf(
  { tenant, job_id }: JobKey,
  place: number,
): { readonly tenant: string; readonly blob_id: string } {
  return { tenant, blob_id: `${job_id}.${place}` };
}
