/**
 * The store of v0.1: jobs and their events, without any digest. An upgrade begins here; a new store passes through it
 * empty. The later migrations convert its rows.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

const clustered = sql`strict, without rowid`;

export const schemaOfV01: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('jobs')
      .addColumn('job_id', 'text', (column) => column.notNull().primaryKey())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('language', 'text', (column) => column.notNull())
      .addColumn('code', 'text', (column) => column.notNull())
      .addColumn('stdin', 'text')
      .addColumn('limits', 'text', (column) => column.notNull().check(sql`json_valid(limits)`))
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('started_at', 'text')
      .addColumn('finished_at', 'text')
      .addColumn('exit_code', 'integer')
      .addCheckConstraint('jobs_finished', sql`status in ('queued', 'running') or finished_at is not null`)
      .modifyEnd(sql`strict`)
      .execute();
    await db.schema
      .createTable('events')
      .addColumn('job_id', 'text', (column) => column.notNull().references('jobs.job_id'))
      .addColumn('seq', 'integer', (column) => column.notNull())
      .addColumn('timestamp', 'text', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('data', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('events_key', ['job_id', 'seq'])
      .modifyEnd(clustered)
      .execute();
  },
};
