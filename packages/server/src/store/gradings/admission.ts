/** The transaction that accepts a grading: bounds, key, programs, tests and the blobs that these name, all or none. */
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import { blob, dropUploads } from '../blobs/blobs.ts';
import { heldNameOf } from '../blobs/blobs-named.ts';
import { GRADING, insertNew, insertOf, same } from '../by-column.ts';
import { queuedPlaces } from '../jobs/admission.ts';
import { prepared } from '../prepared.ts';
import type { GradingAdmission } from '../records/gradings.ts';
import type { GradingTable, StoreDatabase } from '../schema.ts';

const findKey = prepared((db, { tenant, key }: { tenant: string; key: string }) =>
  db
    .selectFrom('grading_keys')
    .innerJoin('gradings', (join) => join.on(same(GRADING, 'gradings', 'grading_keys')))
    .select(['grading_keys.grading_id', 'grading_keys.spec_sha256', 'gradings.created_at'])
    .where('grading_keys.tenant', '=', tenant)
    .where('grading_keys.idempotency_key', '=', key),
);

const insertKey = insertOf('grading_keys', [...GRADING, 'idempotency_key', 'spec_sha256']);

const insertGrading = insertOf('gradings', [...GRADING, 'principal', 'created_at', 'programs', 'tests', 'common'], {
  status: 'running',
  cancellation_requested: 0,
  runs_ended: 0,
  last_seq: 0,
});

const insertProgram = insertOf('grading_programs', [...GRADING, 'position', 'state', 'content'], { status: 'waiting' });
const insertTest = insertOf('grading_tests', [...GRADING, 'position', 'head', 'content']);
const insertBlob = insertNew('grading_blobs', [...GRADING, 'blob_id']);

/** A grading that was accepted, now or earlier. */
export type AcceptedGrading = Readonly<Pick<GradingTable, 'grading_id' | 'created_at'>>;

export type GradingAdmitted =
  | { readonly kind: 'created' | 'replayed'; readonly grading: AcceptedGrading }
  | { readonly kind: 'key_reused' | 'blob_unavailable' }
  | { readonly kind: 'full'; readonly of: 'queue' | 'tenant' };

/** Stores a grading, or returns why it is not accepted. A repeated request is answered however full the queue is. */
export async function admitGrading(db: StoreDatabase, input: GradingAdmission): Promise<GradingAdmitted> {
  const { tenant, grading_id, created_at, idempotency } = input;
  const earlier = await earlierGrading(db, input);
  if (earlier !== null) return earlier;
  const { ofTenant, all } = await queuedPlaces(db, tenant);
  if (ofTenant >= input.tenantQueueMax) return { kind: 'full', of: 'tenant' };
  if (all >= input.queueMax) return { kind: 'full', of: 'queue' };
  const blobs = await blobsOf(db, input);
  if (blobs === null) return { kind: 'blob_unavailable' };
  const key = { tenant, grading_id };
  const [programs, tests] = [input.programs.length, input.tests.length];
  insertGrading.send(db, { ...key, principal: input.principal, created_at, programs, tests, common: input.common });
  if (idempotency !== null)
    insertKey.send(db, { ...key, idempotency_key: idempotency.key, spec_sha256: idempotency.spec_sha256 });
  insertProgram.sendEach(
    db,
    input.programs.map(({ head, content }, position) => ({ ...key, position, state: head, content })),
  );
  insertTest.sendEach(
    db,
    input.tests.map((part, position) => ({ ...key, position, ...part })),
  );
  insertBlob.sendEach(
    db,
    blobs.map((blob_id) => ({ ...key, blob_id })),
  );
  dropUploads(db, tenant, input.held);
  return { kind: 'created', grading: { grading_id, created_at } };
}

async function earlierGrading(
  db: StoreDatabase,
  { tenant, idempotency }: GradingAdmission,
): Promise<GradingAdmitted | null> {
  if (idempotency === null) return null;
  const earlier = await findKey.first(db, { tenant, key: idempotency.key });
  if (earlier === null) return null;
  const { spec_sha256, ...grading } = earlier;
  return spec_sha256 === idempotency.spec_sha256 ? { kind: 'replayed', grading } : { kind: 'key_reused' };
}

/** The blobs that the grading keeps; null if the tenant lacks one of them. */
async function blobsOf(db: StoreDatabase, { tenant, blobs, held }: GradingAdmission): Promise<string[] | null> {
  const found: string[] = [];
  for (const sha256 of [...blobs, ...held.map(heldNameOf)]) {
    const known = await blob(db, { tenant, sha256 });
    if (known === null) return null;
    found.push(known.blob_id);
  }
  return found;
}

/** The digest of a grading; equal gradings have equal digests. Computed on a store thread: a grading may have many megabytes. */
export async function gradingDigest(_db: StoreDatabase, grading: object): Promise<string> {
  return sha256Hex(canonicalJson(grading));
}

/** The grading that was made with an idempotency key, and the grading's digest. */
export function findGradingByKey(
  db: StoreDatabase,
  asked: { readonly tenant: string; readonly key: string },
): Promise<(AcceptedGrading & { readonly spec_sha256: string }) | null> {
  return findKey.first(db, asked);
}
