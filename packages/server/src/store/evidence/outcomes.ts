/**
 * The terminal transaction: a job's last events, artifacts, status, receipt and outbox row, all or none. After the commit, only
 * an attestation is ever added to the job. Spec § States and transitions.
 */
import { randomBytes } from 'node:crypto';
import {
  CANARY_TENANT,
  canaryLines,
  canonicalJson,
  outputEvidenceOf,
  saltBytes,
  sealReceipt,
} from '@vouchbox/evidence';
import type { EventBody } from '@vouchbox/protocol';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import { storeLargeOutputs } from '../blobs/large-outputs.ts';
import { hasKey, insertOf, JOB, same, selectBy, updateBy } from '../by-column.ts';
import { insertEvents, linkBehind } from '../history/events.ts';
import { endClaim } from '../jobs/claims.ts';
import { executionText, recordExecution } from '../jobs/jobs.ts';
import { dequeue } from '../jobs/queue.ts';
import type { SubmissionEvidence } from '../jobs/submission-evidence.ts';
import { endedRunning } from '../jobs/tenants.ts';
import { shortResult } from '../kept/short-results.ts';
import { prepared, together } from '../prepared.ts';
import type { FinishAnswer } from '../records/answers.ts';
import type { PackedFinish } from '../records/inputs.ts';
import type { JobKey, StoredArtifact } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { queueForAttestation } from './attestations.ts';
import { eventChain, receiptOf, recordOf } from './receipts.ts';
import { type StoredContents, storedContents } from './stored-contents.ts';

const selectUnfinished = prepared((db, key: JobKey) =>
  db
    .selectFrom('jobs')
    .leftJoin('job_specs', (join) => join.on(same(JOB, 'job_specs', 'jobs')))
    .select([
      'jobs.tenant',
      'jobs.job_id',
      'jobs.status',
      'jobs.created_at',
      'jobs.started_at',
      'jobs.truncated',
      'jobs.labels',
      'jobs.chain_seq',
      'jobs.chain_head',
      'job_specs.evidence',
      'job_specs.execution',
    ])
    .where(hasKey('jobs', JOB, key)),
);

const endJob = updateBy('jobs', JOB, [
  'status',
  'finished_at',
  'duration_ms',
  'exit_code',
  'signal',
  'terminal_reason',
  'truncated',
  'chain_seq',
  'chain_head',
]);

const endLabels = updateBy('job_labels', JOB, ['ended']);
const insertArtifact = insertOf('artifacts', [...JOB, 'position', 'path', 'size_bytes', 'sha256', 'content']);
const insertReceipt = insertOf('receipts', [...JOB, 'receipt_json', 'receipt_sha256', 'salt', 'also']);

const selectArtifacts = selectBy('artifacts', JOB, ['path', 'size_bytes', 'sha256', 'content'], {
  orderBy: 'position',
});

/**
 * The terminal transaction: events, artifacts, `finished`, status, receipt and outbox row, all or none. Nothing changes if
 * the job was already terminal.
 */
export async function finish(db: StoreDatabase, input: PackedFinish): Promise<FinishAnswer> {
  const job = await selectUnfinished.first(db, input);
  if (job === null || isTerminal(job.status)) return { isStored: false, result: null, end: null };
  const linked = linkBehind(job, [...input.events, finishedEvent(input)]);
  const { tail } = linked;
  storeArtifacts(db, input);
  const submission = job.evidence === null ? null : (JSON.parse(job.evidence) as SubmissionEvidence);
  const isLarge = submission?.large_outputs !== undefined;
  if (isLarge) await storeLargeOutputs(db, input, { outputs: input.largeOutputs ?? [], at: input.finished_at });
  together(db, () => {
    insertEvents(db, linked);
    if (executionText(input.execution) !== job.execution) recordExecution(db, input, input.execution);
    endJob.send(db, { ...input, ...tail, truncated: linked.isTruncated ? 1 : job.truncated });
    if (job.labels !== null) endLabels.send(db, { ...tail, ended: input.status });
    if (job.status === 'queued') dequeue(db, input);
    else endedRunning.send(db, input);
  });
  const stored = await storedContents(db, tail);
  const { created_at, started_at } = job;
  const { isTruncated: truncated, counts, output } = stored;
  const facts = { created_at, started_at, submission, truncated, output: outputEvidenceOf(output) };
  const receipt = receiptOf(input, { ...facts, event_chain: eventChain(tail, counts) });
  const { json, receipt_sha256 } = sealReceipt(receipt);
  const { tenant, job_id, finished_at } = input;
  together(db, () => {
    // The salt is drawn here, not when the job is signed, so that every signer signs the same bytes.
    const salt = randomBytes(saltBytes).toString('hex');
    insertReceipt.send(db, {
      tenant,
      job_id,
      receipt_json: json,
      receipt_sha256,
      salt,
      also: alsoText(input, { submission, ...stored }),
    });
    queueForAttestation(db, { tenant, job_id, at: finished_at });
    endClaim(db, input);
  });
  const large = isLarge ? { large_outputs: (input.largeOutputs ?? []).map(recordOf) } : {};
  const { terminal_reason, exit_code } = input;
  return {
    isStored: true,
    result: input.artifacts.length > 0 ? null : shortResult({ ...input, truncated, ...large }, stored),
    end: input.isAwaited ? { terminal_reason, exit_code, truncated, receipt_json: json, receipt_sha256 } : null,
  };
}

/**
 * The JSON text of the members that a statement has beside the receipt; null if it has none. They are the members of `also`, a
 * canary's output (whose readers get the statement without the result), and the evidence of tool calls.
 */
function alsoText(
  { tenant, also }: PackedFinish,
  { submission, output, transcript }: StoredContents & { readonly submission: SubmissionEvidence | null },
): string | null {
  const tried = tenant === CANARY_TENANT ? canaryLines(output.stdout.texts.join('\n')) : null;
  const tools = submission?.tool_limits === undefined ? null : transcript.evidence();
  const members = { ...also, ...(tried !== null && { tried }), ...(tools !== null && { tools }) };
  return Object.keys(members).length === 0 ? null : canonicalJson(members);
}

/** The artifacts of the job with their content, in order. */
export function artifacts(db: StoreDatabase, key: JobKey): Promise<readonly StoredArtifact[]> {
  return selectArtifacts.all(db, key);
}

function finishedEvent(input: PackedFinish): EventBody {
  const { status, exit_code, signal, terminal_reason, duration_ms } = input;
  const data = { status, exit_code, signal, terminal_reason, duration_ms };
  return { kind: 'finished', timestamp: input.finished_at, data };
}

function storeArtifacts(db: StoreDatabase, { tenant, job_id, artifacts }: PackedFinish): void {
  for (const [position, artifact] of artifacts.entries()) {
    insertArtifact.send(db, { tenant, job_id, position, ...artifact });
  }
}
