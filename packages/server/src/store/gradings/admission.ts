/** The transaction that accepts a grading: bounds, key, programs, tests and the blobs that they name, all or none. */
import { blob, dropUploads } from '../blobs/blobs.ts';
import { heldNameOf } from '../blobs/blobs-named.ts';
import { queuedPlaces } from '../jobs/admission.ts';
import { prepared } from '../prepared.ts';
import type { GradingAdmission } from '../records/gradings.ts';
import type { GradingTable, StoreDatabase } from '../schema.ts';

const findKey = prepared((db, { tenant, key }: { tenant: string; key: string }) =>
  db
    .selectFrom('grading_keys')
    .innerJoin('gradings', (join) =>
      join
        .onRef('gradings.tenant', '=', 'grading_keys.tenant')
        .onRef('gradings.grading_id', '=', 'grading_keys.grading_id'),
    )
    .select(['grading_keys.grading_id', 'grading_keys.spec_sha256', 'gradings.created_at'])
    .where('grading_keys.tenant', '=', tenant)
    .where('grading_keys.idempotency_key', '=', key),
);

const insertKey = prepared((db, row: { tenant: string; grading_id: string; key: string; spec_sha256: string }) =>
  db.insertInto('grading_keys').values({
    tenant: row.tenant,
    grading_id: row.grading_id,
    idempotency_key: row.key,
    spec_sha256: row.spec_sha256,
  }),
);

type NewGrading = Pick<
  GradingTable,
  'tenant' | 'grading_id' | 'principal' | 'created_at' | 'programs' | 'tests' | 'common'
>;

const insertGrading = prepared((db, row: NewGrading) =>
  db.insertInto('gradings').values({
    tenant: row.tenant,
    grading_id: row.grading_id,
    status: 'running',
    principal: row.principal,
    created_at: row.created_at,
    finished_at: null,
    cancellation_requested: 0,
    programs: row.programs,
    tests: row.tests,
    runs_ended: 0,
    last_seq: 0,
    common: row.common,
  }),
);

interface Part {
  readonly tenant: string;
  readonly grading_id: string;
  readonly position: number;
  readonly head: string;
  readonly content: string;
}

const insertProgram = prepared((db, row: Part) =>
  db.insertInto('grading_programs').values({
    tenant: row.tenant,
    grading_id: row.grading_id,
    position: row.position,
    status: 'waiting',
    state: row.head,
    content: row.content,
  }),
);

const insertTest = prepared((db, row: Part) =>
  db.insertInto('grading_tests').values({
    tenant: row.tenant,
    grading_id: row.grading_id,
    position: row.position,
    head: row.head,
    content: row.content,
  }),
);

const insertBlob = prepared((db, row: { tenant: string; grading_id: string; blob_id: string }) =>
  db
    .insertInto('grading_blobs')
    .values({ tenant: row.tenant, grading_id: row.grading_id, blob_id: row.blob_id })
    .onConflict((conflict) => conflict.doNothing()),
);

/** A grading that was accepted, now or before. */
export interface AcceptedGrading {
  readonly grading_id: string;
  readonly created_at: string;
}

export type GradingAdmitted =
  | { readonly kind: 'created' | 'replayed'; readonly grading: AcceptedGrading }
  | { readonly kind: 'key_reused' | 'blob_unavailable' }
  | { readonly kind: 'full'; readonly of: 'queue' | 'tenant' };

/** Stores a grading, or returns why not. A repeated request is answered however full the queue is. */
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
  if (idempotency !== null) insertKey.send(db, { ...key, ...idempotency });
  insertProgram.sendEach(db, rowsOf(key, input.programs));
  insertTest.sendEach(db, rowsOf(key, input.tests));
  insertBlob.sendEach(
    db,
    blobs.map((blob_id) => ({ ...key, blob_id })),
  );
  dropUploads(db, tenant, input.held);
  return { kind: 'created', grading: { grading_id, created_at } };
}

function rowsOf(key: { tenant: string; grading_id: string }, parts: GradingAdmission['tests']): Part[] {
  return parts.map((part, position) => ({ ...key, position, ...part }));
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

/** The blobs that the grading keeps; null if the tenant lacks one. */
async function blobsOf(db: StoreDatabase, { tenant, blobs, held }: GradingAdmission): Promise<string[] | null> {
  const found: string[] = [];
  for (const sha256 of [...blobs, ...held.map(heldNameOf)]) {
    const known = await blob(db, { tenant, sha256 });
    if (known === null) return null;
    found.push(known.blob_id);
  }
  return found;
}

/** The grading of a key, and the digest that it stands for. */
export function findGradingByKey(
  db: StoreDatabase,
  asked: { readonly tenant: string; readonly key: string },
): Promise<(AcceptedGrading & { readonly spec_sha256: string }) | null> {
  return findKey.first(db, asked);
}
