/**
 * Reads a job's row for its owner, lists rows for recovery, moves jobs from queued to running, and stores what was observed.
 */
import type { AnyReceipt, EventBody, StoredSpec } from '@vouchbox/protocol';
import { sql } from 'kysely';
import type { JsonText } from '../../ground/json-text.ts';
import { hasIn, hasKey, JOB, selectBy, updateBy } from '../by-column.ts';
import { type ChainedJob, insertEvents, linkBehind } from '../history/events.ts';
import { prepared, together } from '../prepared.ts';
import type { StartInput } from '../records/inputs.ts';
import type { ExecutionRecord, JobKey, JobRow, JobSummary, RunningJob } from '../records/rows.ts';
import type { JobTable, StoreDatabase } from '../schema.ts';
import { claim, isTaken } from './claims.ts';
import { summaries, summaryOf } from './job-columns.ts';
import { startFromQueue } from './queue.ts';

const selectSummary = prepared((db, key: JobKey) => summaries(db).where(hasKey('jobs', JOB, key)));

const selectSpec = selectBy('job_specs', JOB, ['execution', 'requested_spec']);
const selectReceipt = selectBy('receipts', JOB, ['receipt_json', 'receipt_sha256']);

const RUNNING = [...JOB, 'created_at', 'started_at', 'cancellation_requested'] as const;
const selectRunning = selectBy('jobs', [], RUNNING, { where: { status: 'running' }, orderBy: 'started_at' });

const selectOrphans = selectBy('jobs', [], RUNNING, {
  where: { status: 'running' },
  also: sql`not ${hasIn('claims', JOB, { of: 'jobs', where: hasIn('nodes', ['node'], { of: 'claims' }) })}`,
  orderBy: 'started_at',
});

const selectQueued = selectBy('jobs', JOB, [...JOB, 'chain_seq', 'chain_head'], { where: { status: 'queued' } });
const startQueued = updateBy('jobs', JOB, ['started_at', 'chain_seq', 'chain_head'], { to: { status: 'running' } });

const updateExecution = prepared((db, row: JobKey & { execution: string | null }) =>
  db
    .updateTable('job_specs')
    .set({ execution: row.execution })
    .where(hasKey('job_specs', JOB, row))
    // An equal record is not written again.
    .where('execution', 'is distinct from', row.execution),
);

/** A job without its large members; null if the tenant has no such job. */
export async function jobSummary(db: StoreDatabase, key: JobKey): Promise<JobSummary | null> {
  const columns = await selectSummary.first(db, key);
  return columns === null ? null : summaryOf(columns);
}

/** The receipt of a job, byte for byte as it is stored; null if there is none. */
export async function receiptOf(db: StoreDatabase, key: JobKey): Promise<JsonText<AnyReceipt> | null> {
  const stored = await selectReceipt.first(db, key);
  return stored === null ? null : (stored.receipt_json as JsonText<AnyReceipt>);
}

/** A job's whole row; null if the tenant has no such job. */
export async function job(db: StoreDatabase, key: JobKey): Promise<JobRow | null> {
  const summary = await jobSummary(db, key);
  if (summary === null) return null;
  const { attestation_available: _, ...lifecycle } = summary;
  const spec = await selectSpec.first(db, key);
  const receipt = await selectReceipt.first(db, key);
  return {
    ...lifecycle,
    requested_spec: spec === null ? {} : (JSON.parse(spec.requested_spec) as StoredSpec),
    execution: spec === null || spec.execution === null ? null : (JSON.parse(spec.execution) as ExecutionRecord),
    receipt_json: receipt?.receipt_json ?? null,
    receipt_sha256: receipt?.receipt_sha256 ?? null,
  };
}

/** Running jobs that no living node has taken, in a store that several nodes share. */
export async function orphanedJobs(db: StoreDatabase): Promise<readonly RunningJob[]> {
  return (await selectOrphans.all(db, {})).map(runningJobOf);
}

/** Jobs that a process left `running` when it ended. */
export async function runningJobs(db: StoreDatabase): Promise<readonly RunningJob[]> {
  return (await selectRunning.all(db, {})).map(runningJobOf);
}

function runningJobOf({
  created_at,
  started_at,
  cancellation_requested,
  ...key
}: Pick<JobTable, (typeof RUNNING)[number]>): RunningJob {
  return { ...key, started_at: started_at ?? created_at, cancellation_requested: cancellation_requested === 1 };
}

/**
 * Moves a job from queued to running, with its `started` event. A pair moves together or not at all. Returns false if a job is no
 * longer queued, or if another node has taken it.
 */
export async function start(db: StoreDatabase, { interactor, ...input }: StartInput): Promise<boolean> {
  const { tenant, started_at } = input;
  const [queued, isMine] = await Promise.all([selectQueued.first(db, input), isTaken(db, input)]);
  if (queued === null || !isMine) return false;
  if (interactor !== undefined) {
    const other = await selectQueued.first(db, { tenant, job_id: interactor.job_id });
    if (other === null) return false;
    startOne(db, other, { tenant, started_at, ...interactor });
    claim(db, other);
  }
  startOne(db, queued, input);
  return true;
}

function startOne(db: StoreDatabase, queued: ChainedJob, input: Omit<StartInput, 'created_at'>): void {
  const { tenant, job_id, started_at, execution } = input;
  const linked = linkBehind(queued, [startedEvent(started_at, execution)]);
  together(db, () => {
    recordExecution(db, { tenant, job_id }, execution);
    insertEvents(db, linked);
    startQueued.send(db, { ...linked.tail, started_at });
    startFromQueue(db, queued);
  });
}

/** Replaces the record of what an executor observed of a job; null removes the record. */
export function recordExecution(
  db: StoreDatabase,
  { tenant, job_id }: JobKey,
  execution: ExecutionRecord | null,
): void {
  updateExecution.send(db, { tenant, job_id, execution: executionText(execution) });
}

/** An executor's record as it is stored. */
export function executionText(execution: ExecutionRecord | null): string | null {
  return execution === null ? null : JSON.stringify(execution);
}

/** The event that records that a job has started, and under which posture it runs. */
export function startedEvent(timestamp: string, execution: ExecutionRecord): EventBody {
  const { backend, isolation_class, bootstrap_ready, effective_limits: limits } = execution;
  return { kind: 'started', timestamp, data: { backend, isolation_class, bootstrap_ready, limits } };
}
