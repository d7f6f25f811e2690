/**
 * Builds of programs: finds the product that a job may start, and an existing build of a program that is to be built. Both are
 * looked up within one tenant, so no job ever starts what another tenant built.
 */
import { sha256Hex } from '@vouchbox/evidence';
import type { RequestedSpec, StoredFile, StoredProduct, StoredSpec } from '@vouchbox/protocol';
import { PRODUCT_FILES } from '@vouchbox/protocol/vocabulary';
import { sql } from 'kysely';
import { hasKey, JOB, same, selectBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { ExecutionRecord, JobKey } from '../records/rows.ts';
import type { BuildTable, StoreDatabase } from '../schema.ts';
import { submissionOfKey } from './inputs.ts';
import type { SubmissionEvidence } from './submission-evidence.ts';

/** A build that succeeded and still has its product. */
const selectBuild = prepared((db, key: JobKey) =>
  db
    .selectFrom('jobs')
    .innerJoin('job_specs', (join) => join.on(same(JOB, 'job_specs', 'jobs')))
    .innerJoin('large_outputs', (join) => join.on(same(JOB, 'large_outputs', 'jobs')))
    .select(['job_specs.evidence', 'job_specs.execution', 'large_outputs.sha256'])
    .where(hasKey('jobs', JOB, key))
    .where('jobs.status', '=', sql.lit('succeeded'))
    .where('large_outputs.path', '=', sql.lit(PRODUCT_FILES.output)),
);

const selectLatest = selectBy('builds', ['tenant', 'build_sha256'], ['job_id']);

/** Records a build as the latest for its digest; part of the transaction that accepts the build. */
export const recordBuild = prepared((db, { tenant, build_sha256, job_id }: BuildTable) =>
  db
    .insertInto('builds')
    .values({ tenant, build_sha256, job_id })
    .onConflict((conflict) => conflict.columns(['tenant', 'build_sha256']).doUpdateSet({ job_id })),
);

export interface ProductAsked extends JobKey, Pick<RequestedSpec, 'language' | 'runtime' | 'code'> {
  /** The submission's key; null if it has none. A job already made with this key keeps the product with which it was accepted. */
  readonly key: string | null;
}

/** A product, and the input file that contains it in the job that starts the product. */
export interface BuiltProduct {
  readonly product: StoredProduct;
  readonly file: StoredFile;
}

/** The product of the job `job_id`, if that job is a build of this program; otherwise null. */
export async function productOf(db: StoreDatabase, asked: ProductAsked): Promise<BuiltProduct | null> {
  const { tenant, job_id, language, runtime, code, key } = asked;
  const row = await selectBuild.first(db, { tenant, job_id });
  if (row === null) return key === null ? null : await productOfKey(db, { tenant, key, job_id });
  const made = JSON.parse(row.evidence ?? '{}') as Partial<SubmissionEvidence>;
  const { runtime_pack = null } = JSON.parse(row.execution ?? '{}') as Partial<ExecutionRecord>;
  const isSame = made.language === language && made.runtime === runtime && made.code_sha256 === sha256Hex(code);
  if (made.build === undefined || runtime_pack === null || !isSame) return null;
  const from = { job_id, path: PRODUCT_FILES.output };
  const file = { path: PRODUCT_FILES.input, from, blob: `sha256:${row.sha256}` };
  return { product: { job_id, pack_digest: runtime_pack.digest }, file };
}

async function productOfKey(
  db: StoreDatabase,
  { tenant, key, job_id }: JobKey & { readonly key: string },
): Promise<BuiltProduct | null> {
  const stored = await submissionOfKey(db, { tenant, key });
  const { product, files = [] } = JSON.parse(stored?.requested_spec ?? '{}') as StoredSpec;
  const file = files.find(({ path }) => path === PRODUCT_FILES.input);
  return product?.job_id === job_id && file !== undefined ? { product, file } : null;
}

/** The latest build with this digest, if its product still exists; otherwise null. */
export async function madeBefore(db: StoreDatabase, asked: Omit<BuildTable, 'job_id'>): Promise<string | null> {
  const found = await selectLatest.first(db, asked);
  if (found === null) return null;
  const { job_id } = found;
  return (await selectBuild.first(db, { tenant: asked.tenant, job_id })) === null ? null : job_id;
}
