/**
 * Files that tenants upload before the jobs that name them, and copies of outputs for the jobs that name those outputs. An upload
 * is a row and its pieces. It is found by its digest only once it is whole, so part of a file is never anyone's input. Three
 * kinds of blobs are removed: uploads left half done, copies that no job needs, and blobs that no job has named for a long time.
 * A job's large output is a copy from the beginning: see `large-outputs.ts`.
 */
import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { deleteBy, GRADING, hasKey, insertNew, insertOf, JOB, same, selectBy, UPLOAD, updateBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { JobKey, StoredBlobRow } from '../records/rows.ts';
import type { BlobPieceTable, BlobTable, StoreDatabase, Tables } from '../schema.ts';
import { HELD } from './blobs-named.ts';

/** One blob of one tenant. */
export interface BlobKey {
  readonly tenant: string;
  /** The blob's key in the store: its digest or, for a copy of an output, the result of `copyNameOf`. */
  readonly sha256: string;
}

/** One upload of one tenant. */
export type UploadKey = Readonly<Pick<BlobTable, 'tenant' | 'blob_id'>>;

export interface BeginUpload extends BlobKey, UploadKey {
  /** The largest size that the upload may reach. */
  readonly size_bytes: number;
  readonly at: string;
  /** How many blobs a tenant may have, and how many bytes in all. Uploads under way count too. */
  readonly blobsMax: number;
  readonly bytesMax: number;
}

/** Room to reserve for a tenant: `bytes`, out of the `bytesMax` that all the tenant's blobs together may take. */
export interface Room {
  readonly bytes: number;
  readonly bytesMax: number;
}

export interface UnusedBlobs {
  /**
   * Whole blobs that were last used before this time are removed, unless they are named by a job or a grading that has not ended.
   * Jobs' large outputs stay.
   */
  readonly unusedSince: string;
  /**
   * Uploads that began before this time and are not whole are removed: their senders have stopped. Copies of outputs that were
   * last used before this time are removed, too.
   */
  readonly begunBefore: string;
  /** The most blobs that are removed at once. */
  readonly limit: number;
}

export const insertUpload = insertOf('blobs', [...UPLOAD, 'sha256', 'size_bytes', 'used_at'], { is_whole: 0 });

/** Whether a blob is a copy: the name of a copy is longer than a digest. */
const isCopy = sql<SqlBool>`length(sha256) > 64`;
const isKept = sql<SqlBool>`exists (select 1 from large_outputs where large_outputs.tenant = blobs.tenant and large_outputs.blob_id = blobs.blob_id)`;

/** The sizes of a tenant's blobs. Large outputs and the room reserved for them count in `bytes`, but not in `uploads`. */
const selectSizes = prepared((db, { tenant }: { tenant: string }) =>
  db
    .selectFrom('blobs')
    .select([
      sql<number>`coalesce(sum(size_bytes), 0)`.as('bytes'),
      sql<number>`coalesce(sum(case when sha256 like 'room:%' then 0 else size_bytes end), 0)`.as('kept'),
      sql<number>`count(case when sha256 like 'room:%' or (${isCopy} and ${isKept}) then null else 1 end)`.as(
        'uploads',
      ),
    ])
    .where('tenant', '=', tenant)
    .where('sha256', 'not like', sql.lit(`${HELD}%`)),
);

const selectHeldBytes = prepared((db, { tenant }: { tenant: string }) =>
  db
    .selectFrom('blobs')
    .select(sql<number>`coalesce(sum(size_bytes), 0)`.as('bytes'))
    .where('tenant', '=', tenant)
    .where('sha256', 'like', sql.lit(`${HELD}%`)),
);

const selectUpload = selectBy('blobs', UPLOAD, ['sha256'], { where: { is_whole: 0 } });
const selectWhole = selectBy('blobs', ['tenant', 'sha256'], ['blob_id', 'size_bytes'], { where: { is_whole: 1 } });
const insertPiece = insertOf('blob_pieces', [...UPLOAD, 'position', 'content']);
const selectPiece = selectBy('blob_pieces', [...UPLOAD, 'position'], ['content']);

const selectLastPiece = prepared((db, key: UploadKey) =>
  db
    .selectFrom('blob_pieces')
    .select('position')
    .where(hasKey('blob_pieces', UPLOAD, key))
    .orderBy('position', 'desc')
    .limit(1),
);

const deletePieces = prepared((db, key: UploadKey & { from: number }) =>
  db
    .deleteFrom('blob_pieces')
    .where(hasKey('blob_pieces', UPLOAD, key))
    .where('position', '>=', key.from),
);

const makeWhole = updateBy('blobs', UPLOAD, ['size_bytes', 'used_at'], { to: { is_whole: 1 } });
export const useWhole = updateBy('blobs', ['tenant', 'sha256'], ['used_at'], { where: { is_whole: 1 } });
export const deleteBlob = deleteBy('blobs', UPLOAD);

/** Whether a job or a grading that has not ended names the blob. */
function isNeeded(row: ExpressionBuilder<Tables, 'blobs'>) {
  const ofJobs = row
    .selectFrom('job_blobs')
    .innerJoin('jobs', (join) => join.on(same(JOB, 'jobs', 'job_blobs')))
    .select('job_blobs.job_id')
    .where(same(UPLOAD, 'job_blobs', 'blobs'))
    .where('jobs.finished_at', 'is', null);
  const ofGradings = row
    .selectFrom('grading_blobs')
    .innerJoin('gradings', (join) => join.on(same(GRADING, 'gradings', 'grading_blobs')))
    .select('grading_blobs.blob_id')
    .where(same(UPLOAD, 'grading_blobs', 'blobs'))
    .where('gradings.finished_at', 'is', null);
  return row.or([row.exists(ofJobs), row.exists(ofGradings)]);
}

const deleteUnneeded = prepared((db, key: BlobKey) =>
  db
    .deleteFrom('blobs')
    .where(hasKey('blobs', ['tenant', 'sha256'], key))
    .where('is_whole', '=', sql.lit(1))
    .where((row) => row.not(isNeeded(row))),
);

const selectUnused = prepared((db, { unusedSince, begunBefore, latest, limit }: UnusedBlobs & { latest: string }) =>
  db
    .selectFrom('blobs')
    .select(['tenant', 'blob_id', 'used_at'])
    // This condition lets the index bound how many rows are read.
    .where('used_at', '<', latest)
    .where((row) =>
      row.or([
        row.and([row('is_whole', '=', sql.lit(1)), row('used_at', '<', unusedSince)]),
        row.and([row.or([row('is_whole', '=', sql.lit(0)), isCopy]), row('used_at', '<', begunBefore)]),
      ]),
    )
    .where((row) => row.not(row.or([isKept, isNeeded(row)])))
    .orderBy('used_at')
    .limit(limit),
);

/** Deletes a blob, unless another node has given it to a job just now. */
const deleteUnused = deleteBy('blobs', [...UPLOAD, 'used_at']);

const insertName = insertNew('job_blobs', [...JOB, 'blob_id']);

/** Begins an upload, unless the tenant already has as many blobs or bytes as it may have. Then pieces can be added. */
export async function beginUpload(db: StoreDatabase, input: BeginUpload): Promise<'begun' | 'full'> {
  const { tenant, blob_id, sha256, size_bytes, at, blobsMax, bytesMax } = input;
  const isHeld = sha256.startsWith(HELD);
  const { uploads, bytes } = isHeld ? await sizesHeld(db, tenant) : await sizesOf(db, tenant);
  if (uploads >= blobsMax || bytes + size_bytes > bytesMax) return 'full';
  insertUpload.send(db, { tenant, blob_id, sha256, size_bytes, used_at: at });
  return 'begun';
}

/** How many uploads and copies a tenant has, and the bytes of all its blobs, with and without the room reserved for jobs. */
async function sizesOf(db: StoreDatabase, tenant: string): Promise<{ uploads: number; bytes: number; kept: number }> {
  const sums = await selectSizes.first(db, { tenant });
  return { uploads: Number(sums?.uploads ?? 0), bytes: Number(sums?.bytes ?? 0), kept: Number(sums?.kept ?? 0) };
}

/** How many bytes the tenant's gradings hold in blobs. The blobs themselves are not counted. */
async function sizesHeld(db: StoreDatabase, tenant: string): Promise<{ uploads: number; bytes: number }> {
  return { uploads: 0, bytes: Number((await selectHeldBytes.first(db, { tenant }))?.bytes ?? 0) };
}

/** Null if there is room. `blobs` if there would be room if none were reserved for jobs, and otherwise `kept blobs`. */
export async function lackOfRoom(
  db: StoreDatabase,
  tenant: string,
  { bytes, bytesMax }: Room,
): Promise<'blobs' | 'kept blobs' | null> {
  const found = await sizesOf(db, tenant);
  if (found.bytes + bytes <= bytesMax) return null;
  return found.kept + bytes <= bytesMax ? 'blobs' : 'kept blobs';
}

/**
 * Adds a piece to an upload under way. A piece that fills its whole buffer is moved, which leaves the buffer empty. Returns
 * false, and stores nothing, if the upload was removed.
 */
export async function addPiece(db: StoreDatabase, piece: BlobPieceTable): Promise<boolean> {
  if ((await selectUpload.first(db, piece)) === null) return false;
  insertPiece.send(db, piece);
  return true;
}

/**
 * Ends an upload whose pieces have the digest that was stated at its beginning. `known`: the tenant has meanwhile got the same
 * blob, so the upload is removed. `gone`: the upload had already been removed.
 */
export async function completeUpload(
  db: StoreDatabase,
  { tenant, blob_id, size_bytes, at }: UploadKey & { readonly size_bytes: number; readonly at: string },
): Promise<'stored' | 'known' | 'gone'> {
  const upload = await selectUpload.first(db, { tenant, blob_id });
  if (upload === null) return 'gone';
  const { sha256 } = upload;
  if ((await useWhole.run(db, { tenant, sha256, used_at: at })) > 0) {
    deleteBlob.send(db, { tenant, blob_id });
    return 'known';
  }
  makeWhole.send(db, { tenant, blob_id, size_bytes, used_at: at });
  return 'stored';
}

/** How many pieces one transaction removes: freeing the pages of 64 MiB takes as long as fifty commits. */
const droppedPiecesMax = 8;

/** Removes part of an upload that will not be completed, beginning with the last pieces. Returns true once no piece is left. */
export async function dropUpload(db: StoreDatabase, key: UploadKey): Promise<boolean> {
  if ((await selectUpload.first(db, key)) === null) return true;
  const from = ((await selectLastPiece.first(db, key))?.position ?? 0) + 1 - droppedPiecesMax;
  if (from <= 0) deleteBlob.send(db, key);
  else deletePieces.send(db, { ...key, from });
  return from <= 0;
}

/** A whole blob; null if the tenant does not have it. */
export function blob(db: StoreDatabase, key: BlobKey): Promise<StoredBlobRow | null> {
  return selectWhole.first(db, key);
}

/** Finds a whole blob and counts it as used now; null if the tenant does not have it. */
export async function useBlob(
  db: StoreDatabase,
  { at, ...key }: BlobKey & { readonly at: string },
): Promise<StoredBlobRow | null> {
  return (await useWhole.run(db, { ...key, used_at: at })) === 0 ? null : await selectWhole.first(db, key);
}

/** The piece at a position of a blob; null if there is none. */
export async function blobPiece(
  db: StoreDatabase,
  key: UploadKey & { readonly position: number },
): Promise<Uint8Array | null> {
  return (await selectPiece.first(db, key))?.content ?? null;
}

/** Keeps a blob for a job that was just stored; part of the transaction that accepts it. */
export function nameBlob(db: StoreDatabase, { tenant, job_id }: JobKey, blob_id: string): void {
  insertName.send(db, { tenant, job_id, blob_id });
}

/** Removes uploads, so that nobody can name them from now on. Uploads named by a job or a grading that has not ended are kept. */
export function dropUploads(db: StoreDatabase, tenant: string, digests: readonly string[]): void {
  deleteUnneeded.sendEach(
    db,
    digests.map((sha256) => ({ tenant, sha256 })),
  );
}

/** Removes blobs that nobody uses, least recently used first. Returns how many; 0 means that no such blob is left. */
export async function removeUnusedBlobs(db: StoreDatabase, unused: UnusedBlobs): Promise<number> {
  const { unusedSince, begunBefore } = unused;
  const latest = [unusedSince, begunBefore].toSorted().at(-1) ?? unusedSince;
  const rows = await selectUnused.all(db, { ...unused, latest });
  deleteUnused.sendEach(db, rows);
  return rows.length;
}
