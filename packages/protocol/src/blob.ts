/** Files that are uploaded before the submissions that name them. Each belongs to its tenant. */
import { Timestamp } from './spellings.ts';
import { type Static, Type } from './type.ts';

/** `sha256:` and the digest of a file as 64 lower-case hex digits. */
export const BlobName = Type.String({
  pattern: '^sha256:[0-9a-f]{64}$',
  description: '`sha256:` and the SHA-256 of a file as 64 lower-case hex digits.',
});

/** The answer to an upload. */
export const StoredBlob = Type.Object({
  blob: BlobName,
  size_bytes: Type.Integer(),
  /** When the blob is removed, unless a job names it by then. */
  expires_at: Timestamp,
});
export type StoredBlob = Static<typeof StoredBlob>;
