/**
 * A job as its owner sees it. Everything about execution comes from what an executor recorded in the row; where there is no
 * such record it is null, never what the present configuration would make of it. Spec § Job detail.
 */
import type { JobDetail, Receipt } from '@svc/protocol';
import type { ExecutionRecord, JobRow } from '../../store/store.ts';
import { attestationMember } from './attestation.ts';

/** The body of GET /v1/jobs/{id}. */
export function detailOf(row: JobRow): JobDetail {
  return {
    job_id: row.job_id,
    tenant: row.tenant,
    status: row.status,
    language: row.language,
    runtime: row.runtime,
    created_at: row.created_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    duration_ms: row.duration_ms,
    exit_code: row.exit_code,
    signal: row.signal,
    terminal_reason: row.terminal_reason,
    cancellation_requested: row.cancellation_requested,
    requested_spec: row.requested_spec,
    ...executionMembers(row.execution),
    attestation: attestationMember(row),
    ...receiptMembers(row),
  };
}

function executionMembers(execution: ExecutionRecord | null) {
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

function receiptMembers({ receipt_json, receipt_sha256 }: JobRow): Pick<JobDetail, 'receipt' | 'receipt_sha256'> {
  if (receipt_json === null || receipt_sha256 === null) return {};
  return { receipt: JSON.parse(receipt_json) as Receipt, receipt_sha256 };
}
