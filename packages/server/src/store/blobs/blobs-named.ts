/** Which blobs a specification names, by its text alone. */
import type { ResolvedOutput, StoredFile, UploadedFile } from '@vouchbox/protocol';

/** A file whose content is not in the specification. */
export type NamedFile = UploadedFile | ResolvedOutput;

export function isNamed(file: StoredFile): file is NamedFile {
  return 'blob' in file;
}

export function isOutput(file: StoredFile): file is ResolvedOutput {
  return 'from' in file;
}

/** The names by which to find the blobs of a specification's files, each once. */
export function blobsNamed(files: readonly StoredFile[]): readonly string[] {
  return [...new Set(files.filter(isNamed).map(blobNameOf))];
}

/** The name by which to find the blob of a file: the digest of an upload, or that of an output with a word before it. */
export function blobNameOf(file: NamedFile): string {
  return isOutput(file) ? copyNameOf(digestOf(file)) : digestOf(file);
}

/**
 * A copy of an output, which is kept for the jobs that name it, has a name that is no digest. So no caller finds it, and it
 * is no upload: whoever names the digest must be able to name the output.
 */
export function copyNameOf(sha256: string): string {
  return `output:${sha256}`;
}

/** 64 hex digits. */
export function digestOf({ blob }: Pick<UploadedFile, 'blob'>): string {
  return blob.slice('sha256:'.length);
}
