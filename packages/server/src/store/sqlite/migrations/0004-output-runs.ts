/**
 * A table for runs of output. As separate rows, the lines of a program took longer to store than the program took to
 * write them. Events that are stored in rows stay there: a history may have both.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const schemaOfRuns: Migration = {
  /** The large columns are last, so that the others are read without them. */
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('output_runs')
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('job_id', 'text', (column) => column.notNull())
      .addColumn('seq', 'integer', (column) => column.notNull())
      .addColumn('last_seq', 'integer', (column) => column.notNull())
      .addColumn('prev_hash', 'text', (column) => column.notNull())
      .addColumn('size_bytes', 'integer', (column) => column.notNull())
      .addColumn('event_hashes', 'blob', (column) => column.notNull())
      .addColumn('content', 'blob', (column) => column.notNull())
      .addPrimaryKeyConstraint('output_runs_key', ['tenant', 'job_id', 'seq'])
      .addForeignKeyConstraint('output_runs_job', ['tenant', 'job_id'], 'jobs', ['tenant', 'job_id'], (key) =>
        key.onDelete('cascade'),
      )
      .modifyEnd(sql`strict`)
      .execute();
  },
};
