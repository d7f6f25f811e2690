/**
 * Large outputs of jobs. The transaction that accepts a job reserves room for its large outputs, as uploads that never become
 * whole by themselves. Their pieces are stored before the job ends. The job's terminal transaction turns the uploads into blobs,
 * named like copies of outputs. So jobs that name such an output need no other copy, and equal outputs share one blob.
 */
import type { ArtifactRecord, StoredLargeOutputs } from '@vouchbox/protocol';
import { sql } from 'kysely';
import { hasKey, insertOf, JOB, same, UPLOAD, updateBy } from '../by-column.ts';
import { prepared, together } from '../prepared.ts';
import type { JobKey, KeptOutput, StoredBlobRow } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { type BlobKey, deleteBlob, insertUpload, nameBlob, useBlob } from './blobs.ts';
import { copyNameOf, roomOf } from './blobs-named.ts';

/** Only a specification that asks for large outputs has this text. In a string, JSON would escape the quotes. */
const ASKING = '"large_outputs":{';

const insertOutput = insertOf('large_outputs', [...JOB, 'position', 'path', 'size_bytes', 'sha256', 'blob_id']);

const selectRoom = prepared((db, key: JobKey) =>
  db
    .selectFrom('job_blobs')
    .innerJoin('blobs', (join) => join.on(same(UPLOAD, 'blobs', 'job_blobs')))
    .select(['blobs.tenant', 'blobs.blob_id'])
    .where(hasKey('job_blobs', JOB, key))
    .where('blobs.is_whole', '=', sql.lit(0)),
);

const makeOutput = updateBy('blobs', UPLOAD, ['sha256', 'size_bytes', 'used_at'], {
  to: { is_whole: 1 },
  where: { is_whole: 0 },
});

const selectOutputs = prepared((db, key: JobKey) =>
  db
    .selectFrom('job_specs')
    .leftJoin('large_outputs', (join) => join.on(same(JOB, 'large_outputs', 'job_specs')))
    .select(['large_outputs.path', 'large_outputs.size_bytes', 'large_outputs.sha256'])
    .where(hasKey('job_specs', JOB, key))
    .where('job_specs.requested_spec', 'like', sql.lit(`%${ASKING}%`))
    .orderBy('large_outputs.position'),
);

const selectBlob = prepared((db, key: BlobKey) =>
  db
    .selectFrom('large_outputs')
    .innerJoin('blobs', (join) => join.on(same(UPLOAD, 'blobs', 'large_outputs')))
    .select(['blobs.blob_id', 'blobs.size_bytes'])
    .where(hasKey('large_outputs', ['tenant', 'sha256'], key))
    .limit(1),
);

/** Reserves room for the large outputs of a job; part of the transaction that accepts the job. */
export function reserveRoom(
  db: StoreDatabase,
  key: JobKey,
  { large, at }: { readonly large: StoredLargeOutputs; readonly at: string },
): void {
  const places = large.paths.length + (large.stdout === null ? 0 : 1);
  for (let place = 0; place < places; place++) {
    const { tenant, blob_id } = roomOf(key, place);
    // The first upload reserves the room for all large outputs of the job.
    const size_bytes = place === 0 ? large.max_bytes : 0;
    insertUpload.send(db, { tenant, blob_id, sha256: `room:${blob_id}`, size_bytes, used_at: at });
    nameBlob(db, key, blob_id);
  }
}

/** Turns a job's large outputs into blobs, and frees the rest of the job's room; part of the terminal transaction. */
export async function storeLargeOutputs(
  db: StoreDatabase,
  { tenant, job_id }: JobKey,
  { outputs, at }: { readonly outputs: readonly KeptOutput[]; readonly at: string },
): Promise<void> {
  const key = { tenant, job_id };
  for (const [position, { path, size_bytes, sha256, place }] of outputs.entries()) {
    const name = copyNameOf(sha256);
    const upload = roomOf(key, place);
    const known = await useBlob(db, { tenant, sha256: name, at });
    const made = known === null ? await makeOutput.run(db, { ...upload, sha256: name, size_bytes, used_at: at }) : 1;
    if (made === 0) throw new Error(`the room for the output ${path} is not there any more`);
    const { blob_id } = known ?? upload;
    insertOutput.send(db, { ...key, position, path, size_bytes, sha256, blob_id });
  }
  const rest = await selectRoom.all(db, key);
  together(db, () => {
    for (const upload of rest) deleteBlob.send(db, upload);
  });
}

/** Whether a job with this specification has a list of large outputs, even if the list is empty. */
export function asksForLargeOutputs(requested_spec: string): boolean {
  return requested_spec.includes(ASKING);
}

/** The large outputs of a job, in order; null if it did not ask for any, or there is no such job. */
export async function largeOutputs(db: StoreDatabase, key: JobKey): Promise<readonly ArtifactRecord[] | null> {
  const rows = await selectOutputs.all(db, key);
  if (rows.length === 0) return null;
  return rows.flatMap(({ path, size_bytes, sha256 }) =>
    path === null || size_bytes === null || sha256 === null ? [] : [{ path, size_bytes, sha256 }],
  );
}

/** The blob of a large output, if one of the tenant's jobs has it; otherwise null. */
export function largeOutputBlob(db: StoreDatabase, key: BlobKey): Promise<StoredBlobRow | null> {
  return selectBlob.first(db, key);
}
