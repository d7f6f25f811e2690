/**
 * Moves what was observed of a job into the row of its submission. Both are read together, for the detail of a job. In a
 * table of their own, clustered by their key, four such rows filled a page, and a detail in a large store read a third
 * more pages.
 */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const schemaWithExecution: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('job_specs').renameTo('separate_specs').execute();
    await createSpecs(db);
    await sql`
      insert into job_specs (tenant, job_id, execution, evidence, requested_spec)
      select tenant, job_id, execution, evidence, requested_spec
      from separate_specs left join job_executions using (tenant, job_id) order by tenant, job_id`.execute(db);
    await db.schema.dropTable('separate_specs').execute();
    await db.schema.dropTable('job_executions').execute();
  },
};

/** The large column is last, so that the others are read without it. */
async function createSpecs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job_specs')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('execution', 'text')
    .addColumn('evidence', 'text')
    .addColumn('requested_spec', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_specs_key', ['tenant', 'job_id'])
    .addForeignKeyConstraint('job_specs_job', ['tenant', 'job_id'], 'jobs', ['tenant', 'job_id'], (key) =>
      key.onDelete('cascade'),
    )
    .modifyEnd(sql`strict`)
    .execute();
}
