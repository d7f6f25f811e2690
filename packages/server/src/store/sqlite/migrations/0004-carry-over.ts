/**
 * Converts the rows of v0.3 into rows of v4. A value that an older version did not record stays unknown: it is null or left out.
 * It is never derived from the present configuration. Spec § Job detail, § Versioning.
 */
import { GENESIS_HASH } from '@vouchbox/evidence';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol/vocabulary';

/** Tables of v0.3, each after the tables that refer to it. */
const OLD_TABLES = ['attestations', 'receipts', 'artifacts', 'idempotency_keys', 'events', 'jobs'] as const;

/** Renames the tables of v0.3, because new tables take their names. */
export const setAside = OLD_TABLES.map((table) => `alter table ${table} rename to v03_${table};\n`).join('');

/** Copies the jobs. A chain continues after its last event or, if that event has no digest, begins after it. */
const jobs = `
insert into jobs (tenant, job_id, status, language, runtime, created_at, started_at, finished_at, duration_ms,
  exit_code, signal, terminal_reason, cancellation_requested, truncated, chain_seq, chain_head)
select tenant, job_id, status, language, runtime, created_at, started_at, finished_at, duration_ms,
  exit_code, signal, terminal_reason, cancellation_requested, truncated,
  coalesce((select max(seq) from v03_events as e where e.job_id = j.job_id), 0),
  coalesce((select event_hash from v03_events as e where e.job_id = j.job_id order by seq desc limit 1),
    '${GENESIS_HASH}')
from v03_jobs as j;
`;

/** Copies the submissions. Members that v0.1 did not know are absent, and so is every limit that was not requested. */
const submissions = `
insert into job_specs (tenant, job_id, requested_spec)
select tenant, job_id,
  case when files is null
    then json_object('language', language, 'code', code, 'stdin', stdin, 'limits', json(limits))
    else json_object('language', language, 'code', code, 'stdin', stdin, 'files', json(files),
      'outputs', json(outputs), 'runtime', runtime, 'requirements', json(requirements), 'limits', json(limits))
  end
from v03_jobs order by tenant, job_id;
`;

/** Copies the queue. The memory of a queued job is what the job requested, or the default that it will get. */
const queue = `
insert into queue (tenant, job_id, language, runtime, mem_mb, created_at)
select tenant, job_id, language, runtime, coalesce(json_extract(limits, '$.mem_mb'), ${LIMIT_DEFAULTS.mem_mb}),
  created_at
from v03_jobs where status = 'queued';
insert into tenants (tenant, queued, running, last_turn)
select tenant, sum(status = 'queued'), sum(status = 'running'), 0
from v03_jobs where status in ('queued', 'running') group by tenant;
insert into idempotency_keys (tenant, idempotency_key, job_id, spec_sha256)
select tenant, idempotency_key, job_id, spec_sha256 from v03_idempotency_keys;
`;

const history = `
insert into events (tenant, job_id, seq, timestamp, kind, hash_version, prev_hash, event_hash, data)
select j.tenant, e.job_id, e.seq, e.timestamp, e.kind, e.hash_version, e.prev_hash, e.event_hash, e.data
from v03_events as e join v03_jobs as j using (job_id) order by j.tenant, e.job_id, e.seq;
insert into artifacts (tenant, job_id, position, path, size_bytes, sha256, content)
select j.tenant, a.job_id, a.position, a.path, a.size_bytes, a.sha256, a.content
from v03_artifacts as a join v03_jobs as j using (job_id);
`;

/** Copies the receipts, byte for byte. A receipt without a tenant belongs to the tenant of its job. */
const receipts = `
insert into receipts (tenant, job_id, receipt_json, receipt_sha256)
select j.tenant, r.job_id, r.receipt_json, r.receipt_sha256
from v03_receipts as r join v03_jobs as j using (job_id);
`;

/**
 * Copies the attestations that name their tenant, job, receipt and bytes. Every terminal job is attested or in the outbox, never
 * both. Spec § Versioning 6.
 */
const attestations = `
insert into attestations (tenant, job_id, key_id, receipt_sha256, result_sha256, result_size_bytes,
  envelope_sha256, envelope_size_bytes, created_at, result_artifact, envelope)
select j.tenant, a.job_id, a.key_id, a.receipt_sha256, a.result_sha256, length(a.result_artifact),
  a.envelope_sha256, length(a.envelope), a.created_at, a.result_artifact, a.envelope
from v03_attestations as a join v03_jobs as j using (job_id) join v03_receipts as r using (job_id)
where a.tenant = j.tenant and a.receipt_sha256 = r.receipt_sha256
  and a.result_sha256 is not null and a.envelope_sha256 is not null
  and j.status not in ('queued', 'running');
insert into attestation_outbox (tenant, job_id, created_at, attempts, due_at, last_error, last_error_at)
select j.tenant, j.job_id, j.finished_at, 0, j.finished_at,
  case when a.job_id is null then null else 'the attestation of an older version does not name its job' end,
  case when a.job_id is null then null else strftime('%Y-%m-%dT%H:%M:%fZ', 'now') end
from v03_jobs as j left join v03_attestations as a using (job_id)
where j.status not in ('queued', 'running')
  and not exists (select * from attestations as k where k.tenant = j.tenant and k.job_id = j.job_id);
`;

/** Copies every row of the renamed tables into the tables of v4, then drops the renamed tables. */
export const carryOver = [
  ...[jobs, submissions, queue, history, receipts, attestations],
  ...OLD_TABLES.map((table) => `drop table v03_${table};\n`),
].join('');
