/**
 * The transaction that accepts a job: bounds, idempotency key, row and first event, all or none. If a slot and a cell are free,
 * the job starts in the same transaction and never enters the queue.
 */
import { canonicalJson, GENESIS_HASH } from '@vouchbox/evidence';
import type { EventBody, RequestedSpec } from '@vouchbox/protocol';
import { firstLineOf, hasLibraries, inputsOf } from '@vouchbox/protocol/vocabulary';
import { sql } from 'kysely';
import { lackOfRoom, nameBlob } from '../blobs/blobs.ts';
import { reserveRoom } from '../blobs/large-outputs.ts';
import { type NamedBlobs, usedBlobs } from '../blobs/named-files.ts';
import { insertOf, JOB, selectBy } from '../by-column.ts';
import { insertEvents, linkBehind } from '../history/events.ts';
import { prepared, together } from '../prepared.ts';
import type { AcceptedJob, AdmitResult } from '../records/answers.ts';
import type { AdmitInput, GradedJob } from '../records/inputs.ts';
import { anyPackOf, exactPack, type JobKey, PAIR_SLOTS, type QueuedJob, withTools } from '../records/rows.ts';
import type { JobTable, StoreDatabase } from '../schema.ts';
import { admitTools } from './admitted-tools.ts';
import { madeBefore, recordBuild } from './builds.ts';
import { claim } from './claims.ts';
import { earlierGraded, gradingPlaces, recordGraded } from './graded.ts';
import { executionText, startedEvent } from './jobs.ts';
import { PAIR, peerOf } from './pairs.ts';
import { enqueue } from './queue.ts';
import { admitStep, stepOf } from './sessions.ts';
import { submissionEvidence } from './submission-evidence.ts';
import { joinedQueue, nextNumber, queuedCounts, startedAtOnce } from './tenants.ts';

const findKey = selectBy('idempotency_keys', ['tenant', 'idempotency_key'], ['job_id', 'spec_sha256']);
const selectAccepted = selectBy('jobs', JOB, ['job_id', 'created_at']);
const insertKey = insertOf('idempotency_keys', [...JOB, 'idempotency_key', 'spec_sha256']);

type NewJob = JobKey &
  Pick<
    JobTable,
    | 'status'
    | 'language'
    | 'runtime'
    | 'created_at'
    | 'started_at'
    | 'chain_seq'
    | 'chain_head'
    | 'labels'
    | 'first_line'
  > & {
    readonly is_numbered: number;
  };

const insertJob = prepared((db, row: NewJob) =>
  db.insertInto('jobs').values({
    tenant: row.tenant,
    job_id: row.job_id,
    status: row.status,
    language: row.language,
    runtime: row.runtime,
    created_at: row.created_at,
    started_at: row.started_at,
    cancellation_requested: 0,
    truncated: 0,
    chain_seq: row.chain_seq,
    chain_head: row.chain_head,
    labels: row.labels,
    first_line: row.first_line,
    tenant_number: sql<number | null>`case when ${row.is_numbered} = 1 then ${nextNumber(row.tenant)} end`,
  }),
);

const insertLabel = insertOf('job_labels', ['tenant', 'label', 'created_at', 'job_id']);
/** Inserts a job's promise. It is signed later: see `log/promises.ts`. */
const insertPromise = insertOf('job_promises', [...JOB, 'answer_by', 'due_at']);
const insertSpec = insertOf('job_specs', [...JOB, 'execution', 'evidence', 'requested_spec', 'principal']);

/**
 * Stores a queued job with its `queued` event and its idempotency key, or returns why the job is not accepted. With `start`, the
 * job is stored as running, with the `started` event too, and never enters the queue. The key is looked up before any bound is
 * checked, so a repeated request is answered however full the queue is.
 */
export async function admit(db: StoreDatabase, input: AdmitInput): Promise<AdmitResult> {
  const { graded } = input;
  const earlier =
    graded === undefined
      ? await earlierAdmission(db, input)
      : await earlierOfGrading(db, { tenant: input.tenant, ...graded });
  const known = earlier ?? (await earlierBuild(db, input));
  if (known !== null) return known;
  const refused = graded === undefined ? await boundReached(db, input) : null;
  if (refused !== null) return refused;
  const step = await stepOf(db, input);
  if (step !== null && 'refused' in step) return step.refused;
  const lack = await lackForOutputs(db, input);
  if (lack !== null) return { kind: 'full', of: lack };
  const { tenant, created_at, requested_spec, interactor } = input;
  const files = [...inputsOf(requested_spec), ...inputsOf(interactor?.requested_spec ?? {})];
  const blobs = await usedBlobs(db, { tenant, files, at: created_at });
  if (blobs === null) return { kind: 'blob_unavailable' };
  accept(db, { ...input, ...step }, blobs);
  if (interactor !== undefined)
    accept(
      db,
      {
        tenant,
        created_at,
        isNumbered: input.isNumbered,
        idempotency: null,
        isInteractor: true,
        ...interactor,
        ...(input.promise !== undefined && { promise: input.promise }),
        ...(input.principal !== undefined && { principal: input.principal }),
      },
      blobs,
    );
  return { kind: 'created', job: { job_id: input.job_id, created_at } };
}

/** The job that was made with a key of this tenant. This query creates nothing. */
export async function findByIdempotencyKey(
  db: StoreDatabase,
  { tenant, key }: { tenant: string; key: string },
): Promise<{ spec_sha256: string; job: AcceptedJob; peer: string | null } | null> {
  const found = await findKey.first(db, { tenant, idempotency_key: key });
  if (found === null) return null;
  const job = await selectAccepted.first(db, { tenant, job_id: found.job_id });
  if (job === null) return null;
  return { spec_sha256: found.spec_sha256, job, peer: await peerOf(db, { tenant, job_id: found.job_id }) };
}

async function earlierAdmission(db: StoreDatabase, { tenant, idempotency }: AdmitInput): Promise<AdmitResult | null> {
  if (idempotency === null) return null;
  const earlier = await findByIdempotencyKey(db, { tenant, key: idempotency.key });
  if (earlier === null) return null;
  if (earlier.spec_sha256 !== idempotency.spec_sha256) return { kind: 'key_reused' };
  return { kind: 'replayed', job: earlier.job, peer: earlier.peer };
}

/** An earlier successful build of the same program. Any of the tenant's callers gets it instead of a job; no key is used up. */
async function earlierBuild(db: StoreDatabase, input: AdmitInput): Promise<AdmitResult | null> {
  const { tenant, build_sha256, graded } = input;
  const job_id = build_sha256 === undefined ? null : await madeBefore(db, { tenant, build_sha256 });
  const job = job_id === null ? null : await selectAccepted.first(db, { tenant, job_id });
  if (job === null) return null;
  if (graded !== undefined) recordGraded.send(db, { tenant, job_id: job.job_id, ...graded });
  return { kind: 'replayed', job, peer: null };
}

async function earlierOfGrading(
  db: StoreDatabase,
  graded: GradedJob & { readonly tenant: string },
): Promise<AdmitResult | null> {
  const { job_id, isOver } = await earlierGraded(db, graded);
  if (job_id === null) return isOver ? { kind: 'grading_over' } : null;
  const job = await selectAccepted.first(db, { tenant: graded.tenant, job_id });
  return job === null ? { kind: 'grading_over' } : { kind: 'replayed', job, peer: null };
}

/** How many places in the queue one tenant and all tenants take: one for each waiting job and one for each grading. */
export async function queuedPlaces(db: StoreDatabase, tenant: string): Promise<{ ofTenant: number; all: number }> {
  const [jobs, more] = await Promise.all([queuedCounts(db, tenant), gradingPlaces(db, tenant)]);
  return { ofTenant: jobs.ofTenant + more.ofTenant, all: jobs.all + more.all };
}

async function boundReached(db: StoreDatabase, input: AdmitInput): Promise<AdmitResult | null> {
  const { ofTenant, all } = await queuedPlaces(db, input.tenant);
  const more = input.interactor === undefined ? 1 : PAIR_SLOTS;
  if (ofTenant + more > input.tenantQueueMax) return { kind: 'full', of: 'tenant' };
  if (all + more > input.queueMax) return { kind: 'full', of: 'queue' };
  return null;
}

async function lackForOutputs(db: StoreDatabase, input: AdmitInput) {
  const { tenant, requested_spec, interactor, blobBytesMax: bytesMax } = input;
  const large = [requested_spec, interactor?.requested_spec].flatMap((spec) => spec?.large_outputs ?? []);
  if (large.length === 0) return null;
  return await lackOfRoom(db, tenant, { bytes: large.reduce((sum, { max_bytes }) => sum + max_bytes, 0), bytesMax });
}

interface Accepted extends Omit<AdmitInput, 'queueMax' | 'tenantQueueMax' | 'blobBytesMax'> {
  /** Whether the job is an interactor. The pair then waits under the id of the program's job. */
  readonly isInteractor?: boolean;
  /** Whether a step is the first of its session. */
  readonly beginsSession?: boolean;
}

function accept(db: StoreDatabase, input: Accepted, blobs: NamedBlobs): void {
  const { tenant, job_id, created_at, requested_spec: spec, idempotency, start, graded } = input;
  const key = { tenant, job_id };
  const linked = linkBehind({ ...key, chain_seq: 0, chain_head: GENESIS_HASH }, firstEvents(input));
  const { language, runtime } = spec;
  const status = start === undefined ? 'queued' : 'running';
  const evidence = canonicalJson(submissionEvidence(spec, blobs));
  const execution = executionText(start?.execution ?? null);
  together(db, () => {
    insertJob.send(db, {
      ...linked.tail,
      status,
      language,
      runtime,
      created_at,
      started_at: start?.started_at ?? null,
      labels: spec.labels === undefined ? null : JSON.stringify(spec.labels),
      first_line: firstLineOf(spec.code),
      is_numbered: input.isNumbered ? 1 : 0,
    });
    for (const label of spec.labels ?? []) insertLabel.send(db, { ...key, label, created_at });
    insertSpec.send(db, {
      ...key,
      execution,
      evidence,
      requested_spec: JSON.stringify(spec),
      principal: input.principal ?? null,
    });
    for (const { blob_id } of blobs.values()) nameBlob(db, key, blob_id);
    if (spec.large_outputs !== undefined) reserveRoom(db, key, { large: spec.large_outputs, at: created_at });
    admitStep(db, input);
    if (spec.tools !== undefined) admitTools(db, key, spec.tools);
    if (idempotency !== null)
      insertKey.send(db, { ...key, idempotency_key: idempotency.key, spec_sha256: idempotency.spec_sha256 });
    if (input.build_sha256 !== undefined) recordBuild.send(db, { ...key, build_sha256: input.build_sha256 });
    if (graded !== undefined) recordGraded.send(db, { ...key, ...graded });
    if (input.promise !== undefined) insertPromise.send(db, { ...key, ...input.promise });
    insertEvents(db, linked);
    if (start !== undefined) startedAtOnce.send(db, { tenant });
    else if (input.isInteractor) joinedQueue.send(db, { tenant });
    else enqueue(db, queuedRow(input));
    if (start !== undefined) claim(db, key);
  });
}

/** A queued job's row in the queue. For a pair, `mem_mb` is the larger of the two jobs' limits. */
function queuedRow({ tenant, job_id, created_at, requested_spec: spec, interactor, graded }: Accepted): QueuedJob {
  const { language, runtime, limits } = spec;
  const row = { tenant, job_id, language, created_at, is_test: graded === undefined ? 0 : 1 };
  const pack = spec.product === undefined ? runtime : exactPack(spec.product.pack_digest);
  // The mark hides the job from older nodes, which would run the job without its tools, its session's state or its libraries.
  const isOlder = spec.tools === undefined && spec.session === undefined && !hasLibraries(spec);
  const runtimeOrMark = isOlder ? pack : withTools(pack ?? anyPackOf(language));
  if (interactor === undefined) return { ...row, runtime: runtimeOrMark, mem_mb: limits.mem_mb };
  return { ...row, runtime: PAIR, mem_mb: Math.max(limits.mem_mb, interactor.requested_spec.limits.mem_mb) };
}

function firstEvents({ requested_spec, created_at, start }: Accepted): EventBody[] {
  const queued = queuedEvent(requested_spec, created_at);
  return start === undefined ? [queued] : [queued, startedEvent(start.started_at, start.execution)];
}

function queuedEvent(spec: RequestedSpec, timestamp: string): EventBody {
  const { language, runtime, requirements, limits } = spec;
  return { kind: 'queued', timestamp, data: { language, runtime, requirements, limits } };
}
