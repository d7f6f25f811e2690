/** An artifact's content, read piece by piece from wherever it is stored. */
import type { ArtifactRecord } from '@vouchbox/protocol';
import type { JobKey } from '../store/records/rows.ts';
import type { Store } from '../store/store.ts';
import type { ObjectContents } from './object-contents.ts';

/** Where the bytes of artifacts are: in their rows, or in objects. */
export interface ArtifactSources {
  readonly store: Pick<Store, 'artifactPiece' | 'objectOfArtifact'>;
  readonly objects: Pick<ObjectContents, 'read'>;
}

/** The bytes to copy from a stored output. */
export interface CopiedOutput {
  readonly sha256: string;
  readonly bytesMax: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface OutputCopies {
  /**
   * Copies an output for the jobs that name it. The copy is durable when this resolves, and counts as an upload of the tenant
   * until no job needs it.
   *
   * @throws ServiceError `tenant_capacity_exhausted`, `insufficient_storage`, and what `chunks` throws
   */
  copy(tenant: string, output: CopiedOutput): Promise<void>;
  /**
   * Stores a content that a grading holds. The content does not count as an upload. The bound on a tenant's uploads also
   * bounds what the tenant's gradings hold, except the contents that a grading needs in order to end.
   *
   * @throws ServiceError `tenant_capacity_exhausted`, `insufficient_storage`, and what `chunks` throws
   */
  hold(tenant: string, held: CopiedOutput, need?: 'to end'): Promise<void>;
}

/** The bytes of a large output, and how they are stored. */
export interface KeptChunks {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Repeats a write until it is stored, or rejects. */
  retry<T>(write: () => Promise<T>): Promise<T>;
}

export interface OutputKeeping {
  /** Stores a job's large output in the room reserved for it. The output becomes a blob when the job ends. */
  keepOutput(key: JobKey, place: number, bytes: KeptChunks): Promise<Pick<ArtifactRecord, 'size_bytes' | 'sha256'>>;
}

/** How many bytes of an artifact are read at once: a multiple of three, so that only the last piece has base64 padding. */
const artifactPieceBytes = 96 * 1024;

/** The job was removed while its artifact was being read. The answer then ends before its declared length. */
export class ArtifactGone extends Error {
  constructor({ job_id }: JobKey) {
    super(`the job ${job_id} was removed while one of its artifacts was read`);
  }
}

/**
 * An artifact's bytes. If the content is moved from the row to an object meanwhile, the rest is read from the object.
 *
 * @throws ArtifactGone if the artifact's job was removed meanwhile
 */
export async function* artifactPieces(
  { store, objects }: ArtifactSources,
  key: JobKey,
  { path, size_bytes }: ArtifactRecord,
): AsyncGenerator<Uint8Array> {
  let whole: Uint8Array | null = null;
  for (let offset = 0; offset < size_bytes; offset += artifactPieceBytes) {
    const here = whole === null ? await store.artifactPiece({ key, path, offset, bytes: artifactPieceBytes }) : null;
    if (here !== null && here.length > 0) {
      yield here;
      continue;
    }
    if (whole === null) {
      const object = await store.objectOfArtifact({ key, path });
      if (object === null) throw new ArtifactGone(key);
      whole = await objects.read(object);
    }
    yield whole.subarray(offset, offset + artifactPieceBytes);
  }
}
