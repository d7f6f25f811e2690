/**
 * A job as its owner sees it, as the JSON text that the contract defines. The text is built here, on the thread that reads its
 * parts. Stored JSON is copied as it is, a receipt byte for byte; it is never parsed and written again. Everything about
 * execution comes from an executor's record. Without a record, these members are null; they are never derived from the present
 * configuration. Spec § Job detail, § Attestation member.
 */
import type { AttestationMember, JobDetail } from '@vouchbox/protocol';
import { jobPath, RESULT_MEDIA_TYPE } from '@vouchbox/protocol/vocabulary';
import { type JsonText, jsonText, Spelled } from '../../ground/json-text.ts';
import { asksForLargeOutputs, largeOutputs } from '../blobs/large-outputs.ts';
import { hasKey, JOB, same } from '../by-column.ts';
import { SUMMARY_COLUMNS } from '../jobs/job-columns.ts';
import { prepared } from '../prepared.ts';
import type { AttestationRow, ExecutionRecord, JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

export const selectDetail = prepared((db, key: JobKey) =>
  db
    .selectFrom('jobs')
    .leftJoin('job_specs', (join) => join.on(same(JOB, 'job_specs', 'jobs')))
    .leftJoin('receipts', (join) => join.on(same(JOB, 'receipts', 'jobs')))
    .leftJoin('attestations', (join) => join.on(same(JOB, 'attestations', 'jobs')))
    .select(SUMMARY_COLUMNS)
    .select([
      'job_specs.requested_spec',
      'job_specs.execution',
      'receipts.receipt_json',
      'receipts.receipt_sha256',
      'attestations.tenant as attested_tenant',
      'attestations.key_id',
      'attestations.receipt_sha256 as attested_receipt_sha256',
      'attestations.result_sha256',
      'attestations.result_size_bytes',
      'attestations.envelope_sha256',
      'attestations.envelope_size_bytes',
    ])
    .where(hasKey('jobs', JOB, key)),
);

type DetailColumns = NonNullable<Awaited<ReturnType<typeof selectDetail.first>>>;

/** A job as its owner reads it; null if the tenant has no such job. */
export async function jobDetail(db: StoreDatabase, key: JobKey): Promise<JsonText<JobDetail> | null> {
  const columns = await selectDetail.first(db, key);
  if (columns === null) return null;
  const { requested_spec, receipt_json, receipt_sha256 } = columns;
  const large_outputs = asksForLargeOutputs(requested_spec ?? '') ? await largeOutputs(db, key) : null;
  return jsonText<JobDetail>({
    ...lifecycle(columns),
    cancellation_requested: columns.cancellation_requested === 1,
    requested_spec: new Spelled(requested_spec ?? '{}'),
    ...executionMembers(columns),
    ...(large_outputs !== null && { large_outputs: [...large_outputs] }),
    attestation: attestationMember(columns),
    ...(receipt_json !== null && receipt_sha256 !== null && { receipt: new Spelled(receipt_json), receipt_sha256 }),
  });
}

/** The members about the job's life, which its owner and the readers of a link see alike. */
export function lifecycle(columns: DetailColumns) {
  return {
    job_id: columns.job_id,
    tenant: columns.tenant,
    status: columns.status,
    language: columns.language,
    runtime: columns.runtime,
    created_at: columns.created_at,
    started_at: columns.started_at,
    finished_at: columns.finished_at,
    duration_ms: columns.duration_ms,
    exit_code: columns.exit_code,
    signal: columns.signal,
    terminal_reason: columns.terminal_reason,
  };
}

function executionMembers(columns: DetailColumns) {
  const execution = columns.execution === null ? null : (JSON.parse(columns.execution) as ExecutionRecord);
  return {
    effective_spec:
      execution === null ? null : { isolation_class: execution.isolation_class, limits: execution.effective_limits },
    backend: execution?.backend ?? null,
    bootstrap_ready: execution?.bootstrap_ready ?? null,
    networking: execution?.networking ?? null,
    network_allowed: execution?.network_allowed ?? null,
    private_rootfs: execution?.private_rootfs ?? null,
    dedicated_bootstrap: execution?.dedicated_bootstrap ?? null,
    seccomp: execution?.seccomp ?? null,
    limit_enforcement: execution?.limit_enforcement ?? null,
  };
}

/** The member about the attestation. An attestation with another tenant or receipt is not the job's and is not shown. */
export function attestationMember(columns: DetailColumns): AttestationMember {
  const { job_id, tenant, receipt_sha256 } = columns;
  const isOfJob = columns.attested_tenant === tenant && columns.attested_receipt_sha256 === receipt_sha256;
  const stored: { [Name in keyof AttestationRow]: DetailColumns[Name] } | null = isOfJob ? columns : null;
  return {
    available: stored !== null,
    tenant: stored?.tenant ?? null,
    key_id: stored?.key_id ?? null,
    receipt_sha256: stored?.receipt_sha256 ?? null,
    result_media_type: stored === null ? null : RESULT_MEDIA_TYPE,
    result_sha256: stored?.result_sha256 ?? null,
    result_size_bytes: stored?.result_size_bytes ?? null,
    envelope_sha256: stored?.envelope_sha256 ?? null,
    envelope_size_bytes: stored?.envelope_size_bytes ?? null,
    envelope_url: stored === null ? null : jobPath('getAttestation', job_id),
    result_artifact_url: stored === null ? null : jobPath('getResultArtifact', job_id),
  };
}
