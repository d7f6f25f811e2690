/**
 * The store of receipt schema v4: the tenant leads every key, and every terminal job has a receipt, and is attested or
 * waits for its attestation. Spec § Versioning 4.
 */
import { type CreateTableBuilder, type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { carryOver, setAside } from './0004-carry-over.ts';
import { sealMissingReceipts } from './0004-missing-receipts.ts';
import { digestQueuedSubmissions } from './0004-queued-submissions.ts';

/**
 * Creates every table and fills it from those of v0.3. Rows are clustered by their key unless they are large. A large
 * column is last, so that the others are read without it.
 */
export const schemaOfV4: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await setAside(db);
    await createJobs(db);
    await createHistory(db);
    await createEvidence(db);
    await createAdmission(db);
    await createAccess(db);
    await carryOver(db);
    await sealMissingReceipts(db);
    await digestQueuedSubmissions(db);
  },
};

const clustered = sql`strict, without rowid`;
const heaped = sql`strict`;

/** Adds tenant and job as the leading key columns. The rows are deleted with the job. */
function ofJob<Name extends string>(table: CreateTableBuilder<Name>, constraint: string) {
  return table
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addForeignKeyConstraint(constraint, ['tenant', 'job_id'], 'jobs', ['tenant', 'job_id'], (key) =>
      key.onDelete('cascade'),
    );
}

async function createJobs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('jobs')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('language', 'text', (column) => column.notNull())
    .addColumn('runtime', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('started_at', 'text')
    .addColumn('finished_at', 'text')
    .addColumn('duration_ms', 'integer')
    .addColumn('exit_code', 'integer')
    .addColumn('signal', 'text')
    .addColumn('terminal_reason', 'text')
    .addColumn('cancellation_requested', 'integer', (column) => column.notNull())
    .addColumn('truncated', 'integer', (column) => column.notNull())
    .addColumn('chain_seq', 'integer', (column) => column.notNull())
    .addColumn('chain_head', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('jobs_key', ['tenant', 'job_id'])
    .modifyEnd(clustered)
    .execute();
  await createJobIndexes(db);
  await ofJob(db.schema.createTable('job_specs'), 'job_specs_job')
    .addColumn('requested_spec', 'text', (column) => column.notNull())
    .addColumn('evidence', 'text')
    .addPrimaryKeyConstraint('job_specs_key', ['tenant', 'job_id'])
    .modifyEnd(heaped)
    .execute();
  await ofJob(db.schema.createTable('queue'), 'queue_job')
    .addColumn('language', 'text', (column) => column.notNull())
    .addColumn('runtime', 'text')
    .addColumn('mem_mb', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('queue_key', ['tenant', 'job_id'])
    .modifyEnd(clustered)
    .execute();
  await db.schema.createIndex('queue_by_time').on('queue').columns(['tenant', 'created_at', 'job_id']).execute();
  await ofJob(db.schema.createTable('job_executions'), 'job_executions_job')
    .addColumn('execution', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_executions_key', ['tenant', 'job_id'])
    .modifyEnd(clustered)
    .execute();
}

async function createJobIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('jobs_by_status')
    .on('jobs')
    .columns(['tenant', 'status', 'language', 'created_at', 'job_id'])
    .execute();
  await db.schema.createIndex('jobs_by_time').on('jobs').columns(['tenant', 'created_at', 'job_id']).execute();
  await db.schema
    .createIndex('jobs_running')
    .on('jobs')
    .columns(['started_at'])
    .where(sql.ref('status'), '=', sql.lit('running'))
    .execute();
  await db.schema
    .createIndex('jobs_finished')
    .on('jobs')
    .columns(['finished_at'])
    .where(sql.ref('finished_at'), 'is not', sql.lit(null))
    .execute();
}

async function createHistory(db: Kysely<unknown>): Promise<void> {
  await ofJob(db.schema.createTable('events'), 'events_job')
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('timestamp', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('hash_version', 'integer', (column) => column.notNull())
    .addColumn('prev_hash', 'text')
    .addColumn('event_hash', 'text')
    .addColumn('data', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('events_key', ['tenant', 'job_id', 'seq'])
    .modifyEnd(clustered)
    .execute();
  await ofJob(db.schema.createTable('artifacts'), 'artifacts_job')
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('size_bytes', 'integer', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('content', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('artifacts_key', ['tenant', 'job_id', 'position'])
    .modifyEnd(heaped)
    .execute();
}

async function createEvidence(db: Kysely<unknown>): Promise<void> {
  await ofJob(db.schema.createTable('receipts'), 'receipts_job')
    .addColumn('receipt_json', 'text', (column) => column.notNull())
    .addColumn('receipt_sha256', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('receipts_key', ['tenant', 'job_id'])
    .modifyEnd(heaped)
    .execute();
  await ofJob(db.schema.createTable('attestation_outbox'), 'attestation_outbox_job')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'text')
    .addColumn('last_error', 'text')
    .addColumn('last_error_at', 'text')
    .addPrimaryKeyConstraint('attestation_outbox_key', ['tenant', 'job_id'])
    .modifyEnd(clustered)
    .execute();
  await db.schema.createIndex('attestation_outbox_due').on('attestation_outbox').columns(['due_at']).execute();
  await db.schema
    .createIndex('attestation_outbox_errors')
    .on('attestation_outbox')
    .columns(['last_error_at'])
    .where(sql.ref('last_error_at'), 'is not', sql.lit(null))
    .execute();
  await ofJob(db.schema.createTable('attestations'), 'attestations_job')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('receipt_sha256', 'text', (column) => column.notNull())
    .addColumn('result_sha256', 'text', (column) => column.notNull())
    .addColumn('result_size_bytes', 'integer', (column) => column.notNull())
    .addColumn('envelope_sha256', 'text', (column) => column.notNull())
    .addColumn('envelope_size_bytes', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('result_artifact', 'blob', (column) => column.notNull())
    .addColumn('envelope', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('attestations_key', ['tenant', 'job_id'])
    .modifyEnd(heaped)
    .execute();
}

async function createAdmission(db: Kysely<unknown>): Promise<void> {
  await ofJob(db.schema.createTable('idempotency_keys'), 'idempotency_keys_job')
    .addColumn('idempotency_key', 'text', (column) => column.notNull())
    .addColumn('spec_sha256', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_key', ['tenant', 'idempotency_key'])
    .modifyEnd(clustered)
    .execute();
  await db.schema
    .createIndex('idempotency_keys_by_job')
    .unique()
    .on('idempotency_keys')
    .columns(['tenant', 'job_id'])
    .execute();
  await db.schema
    .createTable('tenants')
    .addColumn('tenant', 'text', (column) => column.notNull().primaryKey())
    .addColumn('queued', 'integer', (column) => column.notNull())
    .addColumn('running', 'integer', (column) => column.notNull())
    .addColumn('last_turn', 'integer', (column) => column.notNull())
    .modifyEnd(clustered)
    .execute();
  await db.schema
    .createIndex('tenants_waiting')
    .on('tenants')
    .columns(['tenant'])
    .where(sql.ref('queued'), '>', sql.lit(0))
    .execute();
  await db.schema.createIndex('tenants_by_turn').on('tenants').columns(['last_turn']).execute();
}

async function createAccess(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('credentials')
    .addColumn('credential_id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('principal', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('secret_sha256', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('revoked_at', 'text')
    .modifyEnd(clustered)
    .execute();
  await db.schema
    .createIndex('credentials_by_tenant')
    .on('credentials')
    .columns(['tenant', 'created_at', 'credential_id'])
    .execute();
  await ofJob(db.schema.createTable('stream_tickets'), 'stream_tickets_job')
    .addColumn('ticket_sha256', 'text', (column) => column.notNull().primaryKey())
    .addColumn('principal', 'text', (column) => column.notNull())
    .addColumn('auth_method', 'text', (column) => column.notNull())
    .addColumn('credential_id', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('authority_expires_at', 'text')
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .modifyEnd(clustered)
    .execute();
  await db.schema.createIndex('stream_tickets_by_job').on('stream_tickets').columns(['tenant', 'job_id']).execute();
  await db.schema.createIndex('stream_tickets_by_end').on('stream_tickets').columns(['expires_at']).execute();
  await db.schema
    .createTable('probes')
    .addColumn('probe_id', 'integer', (column) => column.notNull().primaryKey())
    .addColumn('count', 'integer', (column) => column.notNull())
    .modifyEnd(heaped)
    .execute();
}
