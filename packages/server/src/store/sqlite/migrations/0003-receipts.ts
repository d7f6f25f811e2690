/**
 * The store of v0.3: events carry the digests of their chain, jobs that end get a receipt, and attestations are kept if
 * they were made, at first without the job that they belong to. Rows of v0.1 stay as they were: their events have hash
 * version 0 and prove nothing, and a job that ended has no receipt. Spec § Events 7, § Versioning 3.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

const clustered = sql`strict, without rowid`;
const heaped = sql`strict`;

export const schemaOfV03: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await extendJobs(db);
    await extendEvents(db);
    await createEvidence(db);
    await createAdmission(db);
  },
};

async function extendJobs(db: Kysely<unknown>): Promise<void> {
  // SQLite adds one column at a time.
  for (const name of ['runtime', 'files', 'outputs', 'requirements', 'signal', 'terminal_reason'] as const) {
    await db.schema.alterTable('jobs').addColumn(name, 'text').execute();
  }
  await db.schema.alterTable('jobs').addColumn('duration_ms', 'integer').execute();
  for (const name of ['cancellation_requested', 'truncated'] as const) {
    await db.schema
      .alterTable('jobs')
      .addColumn(name, 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  }
  await sql`update jobs set cancellation_requested = status = 'cancelled', truncated = exists (
    select * from events where events.job_id = jobs.job_id and events.kind = 'truncated')`.execute(db);
}

async function extendEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('events')
    .addColumn('hash_version', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('events').addColumn('prev_hash', 'text').execute();
  await db.schema.alterTable('events').addColumn('event_hash', 'text').execute();
}

async function createEvidence(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('receipts')
    .addColumn('job_id', 'text', (column) => column.notNull().primaryKey().references('jobs.job_id'))
    .addColumn('receipt_json', 'text', (column) => column.notNull())
    .addColumn('receipt_sha256', 'text', (column) => column.notNull())
    .modifyEnd(heaped)
    .execute();
  await db.schema
    .createTable('attestations')
    .addColumn('job_id', 'text', (column) => column.notNull().primaryKey().references('jobs.job_id'))
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('tenant', 'text')
    .addColumn('receipt_sha256', 'text')
    .addColumn('result_sha256', 'text')
    .addColumn('envelope_sha256', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('result_artifact', 'blob', (column) => column.notNull())
    .addColumn('envelope', 'blob', (column) => column.notNull())
    .modifyEnd(heaped)
    .execute();
}

async function createAdmission(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('artifacts')
    .addColumn('job_id', 'text', (column) => column.notNull().references('jobs.job_id'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('size_bytes', 'integer', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('content', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('artifacts_key', ['job_id', 'position'])
    .modifyEnd(heaped)
    .execute();
  await db.schema
    .createTable('idempotency_keys')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull().unique().references('jobs.job_id'))
    .addColumn('spec_sha256', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('idempotency_keys_key', ['tenant', 'idempotency_key'])
    .modifyEnd(clustered)
    .execute();
}
