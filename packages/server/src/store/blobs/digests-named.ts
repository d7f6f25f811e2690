/** Which blobs a submission names, by its text alone. */
import type { SubmittedFile, UploadedFile } from '@vouchbox/protocol';

/** The digests that the files of a submission name, each once. */
export function digestsNamed(files: readonly SubmittedFile[]): readonly string[] {
  return [...new Set(files.filter(isUploaded).map(digestOf))];
}

export function isUploaded(file: SubmittedFile): file is UploadedFile {
  return 'blob' in file;
}

/** 64 hex digits. */
export function digestOf({ blob }: Pick<UploadedFile, 'blob'>): string {
  return blob.slice('sha256:'.length);
}
