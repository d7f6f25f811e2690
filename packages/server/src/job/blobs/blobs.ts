/**
 * Files that callers upload before the jobs that name them. An upload is stored piece by piece while it arrives, and
 * becomes a blob once all of it is there and has the stated digest. An upload that ends earlier leaves nothing. An output
 * that a job names as input is copied in the same way, so that the job keeps the bytes even if the output's job is removed.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ArtifactRecord, StoredBlob } from '@vouchbox/protocol';
import type { RateBudget } from '../../capacity/rate.ts';
import type { Caller } from '../../ground/caller.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { Turns } from '../../ground/waiting/turns.ts';
import type { UploadKey } from '../../store/blobs/blobs.ts';
import { copyNameOf, heldNameOf, roomOf } from '../../store/blobs/blobs-named.ts';
import type { Store } from '../../store/store.ts';
import { answered } from '../answered.ts';
import type { KeptChunks, OutputCopies, OutputKeeping } from '../artifact-content.ts';
import { blobContent } from '../blob-content.ts';
import type { LongPart } from '../body.ts';
import { blobNotFound } from '../refusals.ts';
import { storePieces } from './store-pieces.ts';

export interface Upload {
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** The most bytes that may arrive. */
  readonly bytesMax: number;
  /** Rejects if the remaining bytes will not come. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface Received {
  /** Whether the tenant had this blob before. */
  readonly isKnown: boolean;
  readonly stored: StoredBlob;
}

export interface Blobs {
  /** @throws ServiceError `rate_limited` if the tenant has sent more bytes than its budget, even if none were stored */
  checkBudget(caller: Caller): void;
  /**
   * Stores an upload; durable when it resolves. Arriving bytes spend the tenant's budget.
   *
   * @throws ServiceError `digest_mismatch`, `tenant_capacity_exhausted`, `insufficient_storage`, and what `chunks` throws
   */
  receive(caller: Caller, upload: Upload): Promise<Received>;
  /** @throws ServiceError `blob_not_found`, both for an unknown blob and for another tenant's blob */
  content(caller: Caller, sha256: string): Promise<LongPart>;
}

export interface BlobOptions {
  readonly store: Pick<
    Store,
    'useBlob' | 'blob' | 'blobPiece' | 'largeOutputBlob' | 'beginUpload' | 'addPiece' | 'completeUpload' | 'dropUpload'
  >;
  /** How many blobs a tenant may have, and how many bytes they may have together. */
  readonly blobsMax: number;
  readonly bytesMax: number;
  /** How long a blob is kept after it was last uploaded or named. */
  readonly keepMilliseconds: number;
  /** The budget of bytes that a tenant may send. Stored and refused bytes both count. */
  readonly received: RateBudget;
  /** Throws `insufficient_storage` while the free-space reserve is not free. */
  readonly checkFreeSpace: () => void;
}

/** After how many seconds a tenant with too many blobs should ask again. Unused blobs are removed only after hours. */
const retryAfterSeconds = 60;

/**
 * How many pieces may wait for the store at once, counted over all uploads. Any other commit then waits for at most one piece,
 * however many uploads there are.
 */
const piecesAtOnce = 1;

const UNBOUND = Number.MAX_SAFE_INTEGER;

interface Receiving extends BlobOptions {
  readonly pieces: Turns;
}

export function createBlobs(options: BlobOptions): Blobs & OutputCopies & OutputKeeping {
  const { store, received } = options;
  const receiving: Receiving = { ...options, pieces: new Turns(piecesAtOnce) };
  /** The copies in progress. Jobs that arrive together and name the same output share one copy. */
  const copying = new Map<string, Promise<void>>();
  const copyAs = (name: string, tenant: string, output: Upload, how: Receiving) => {
    const place = `${tenant} ${name}`;
    const begun = copying.get(place) ?? copy(tenant, output, how, name).finally(() => copying.delete(place));
    copying.set(place, begun);
    return answered(begun);
  };
  return {
    checkBudget({ tenant }) {
      const { allowed, retryAfterSeconds: seconds } = received.spend(tenant);
      if (allowed) return;
      const message = "The tenant's budget of bytes for uploads is spent.";
      throw new ServiceError('rate_limited', message, { retryAfterSeconds: seconds });
    },
    receive({ tenant }, upload) {
      const chunks = counted(upload.chunks, (bytes) => received.charge(tenant, bytes));
      return answered(receive(tenant, { ...upload, chunks }, receiving));
    },
    copy: (tenant, output) => copyAs(copyNameOf(output.sha256), tenant, output, receiving),
    hold: (tenant, held, need) =>
      copyAs(heldNameOf(held.sha256), tenant, held, {
        ...receiving,
        blobsMax: UNBOUND,
        bytesMax: need === 'to end' ? UNBOUND : receiving.bytesMax,
      }),
    keepOutput: (key, place, bytes) => keepOutput(roomOf(key, place), bytes, receiving),
    async content({ tenant }, sha256) {
      const key = { tenant, sha256 };
      const found = await answered(store.blob(key).then((upload) => upload ?? store.largeOutputBlob(key)));
      if (found === null) throw blobNotFound();
      return { bytes: found.size_bytes, pieces: () => blobContent(store, { tenant, sha256, ...found }) };
    },
  };
}

async function keepOutput(
  key: UploadKey,
  bytes: KeptChunks,
  { store, pieces }: Receiving,
): Promise<Pick<ArtifactRecord, 'size_bytes' | 'sha256'>> {
  const { bytes: size_bytes, sha256 } = await storePieces(bytes.chunks, async (position, content) => {
    // The store takes over the bytes that it gets, so each attempt passes a copy of the piece.
    const isThere = await bytes.retry(() =>
      pieces.take(() => store.addPiece({ ...key, position, content: content.slice() })),
    );
    if (!isThere) throw removed();
  });
  return { size_bytes, sha256 };
}

async function* counted(chunks: AsyncIterable<Uint8Array>, count: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    count(chunk.length);
    yield chunk;
  }
}

async function receive(tenant: string, upload: Upload, options: Receiving): Promise<Received> {
  const { store, keepMilliseconds } = options;
  const { sha256 } = upload;
  const now = Date.now();
  const at = new Date(now).toISOString();
  const known = await store.useBlob({ tenant, sha256, at });
  const size_bytes = known === null ? await receiveNew(tenant, upload, options, sha256) : await compare(upload);
  const expires_at = new Date(now + keepMilliseconds).toISOString();
  return { isKnown: known !== null, stored: { blob: `sha256:${sha256}`, size_bytes, expires_at } };
}

/** Compares the bytes sent for a known blob with its digest, so that a caller learns if they differ. Returns their number. */
async function compare({ sha256, chunks }: Upload): Promise<number> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  if (hash.digest('hex') !== sha256) throw digestMismatch();
  return bytes;
}

async function copy(tenant: string, output: Upload, options: Receiving, name: string): Promise<void> {
  const known = await options.store.useBlob({ tenant, sha256: name, at: new Date().toISOString() });
  if (known !== null) return;
  await receiveNew(tenant, output, options, name).catch((cause: unknown) => {
    // The stored output is at fault, not the submission that named it.
    const isDamaged = cause instanceof ServiceError && cause.code === 'digest_mismatch';
    throw isDamaged ? new Error(`the output ${output.sha256} is damaged in the store`, { cause }) : cause;
  });
}

/** Stores an upload under the name by which it can be found later. */
async function receiveNew(tenant: string, upload: Upload, options: Receiving, name: string): Promise<number> {
  const { store, blobsMax, bytesMax, checkFreeSpace } = options;
  const { bytesMax: size_bytes } = upload;
  checkFreeSpace();
  const key: UploadKey = { tenant, blob_id: randomUUID() };
  const at = new Date().toISOString();
  const begun = await store.beginUpload({ ...key, sha256: name, size_bytes, at, blobsMax, bytesMax });
  if (begun === 'full') {
    const message = `The tenant may have at most ${blobsMax} blobs, of ${bytesMax} bytes together.`;
    throw new ServiceError('tenant_capacity_exhausted', message, { retryAfterSeconds });
  }
  try {
    return await receiveBegun(key, upload, options);
  } catch (error) {
    // A blob that cannot be removed now is removed later, together with all incomplete blobs.
    await dropped(key, options).catch(() => {});
    throw error;
  }
}

async function dropped(key: UploadKey, { store, pieces }: Receiving): Promise<void> {
  while (!(await inTurn(pieces, () => store.dropUpload(key))));
}

/** Uploads take at most half of the store's time. After each change, they leave it free for as long as the change took. */
function inTurn<Answer>(pieces: Turns, change: () => Promise<Answer>): Promise<Answer> {
  return pieces.take(async () => {
    const startedAt = performance.now();
    const answer = await change();
    await pause(performance.now() - startedAt);
    return answer;
  });
}

async function receiveBegun(key: UploadKey, { sha256, chunks }: Upload, options: Receiving): Promise<number> {
  const { store, checkFreeSpace, pieces } = options;
  const received = await storePieces(chunks, async (position, content) => {
    checkFreeSpace();
    if (!(await inTurn(pieces, () => store.addPiece({ ...key, position, content })))) throw removed();
  });
  if (received.sha256 !== sha256) throw digestMismatch();
  const { bytes: size_bytes } = received;
  const completed = await store.completeUpload({ ...key, size_bytes, at: new Date().toISOString() });
  if (completed === 'gone') throw removed();
  return size_bytes;
}

function removed(): Error {
  return new Error('an upload was removed before it was complete');
}

function digestMismatch(): ServiceError {
  return new ServiceError('digest_mismatch', 'The body does not have the SHA-256 of its address.');
}
