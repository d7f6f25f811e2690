/** Adds what is known of contents that lie in an object store, and finds the large contents that are here. */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const schemaWithUsedObjects: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createObjects(db);
    await createUses(db);
    await sql`create index artifacts_large on artifacts (length(content)) where length(content) >= 65536`.execute(db);
    await sql`create index attestations_large on attestations (length(result_artifact)) where length(result_artifact) >= 65536`.execute(
      db,
    );
  },
};

async function createObjects(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('objects')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('size_bytes', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('changed_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('objects_key', ['tenant', 'object_id'])
    .modifyEnd(sql`strict, without rowid`)
    .execute();
  await db.schema.createIndex('objects_by_digest').on('objects').columns(['tenant', 'sha256', 'state']).execute();
  await db.schema
    .createIndex('objects_by_state')
    .on('objects')
    .columns(['state', 'changed_at'])
    .where(sql.ref('state'), '<>', sql.lit('stored'))
    .execute();
}

/** A use is deleted with its job. An object that is used cannot be forgotten. */
async function createUses(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('object_uses')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('object_uses_key', ['tenant', 'job_id', 'position'])
    .addForeignKeyConstraint('object_uses_job', ['tenant', 'job_id'], 'jobs', ['tenant', 'job_id'], (key) =>
      key.onDelete('cascade'),
    )
    .addForeignKeyConstraint('object_uses_object', ['tenant', 'object_id'], 'objects', ['tenant', 'object_id'])
    .modifyEnd(sql`strict, without rowid`)
    .execute();
  await db.schema.createIndex('object_uses_by_object').on('object_uses').columns(['tenant', 'object_id']).execute();
}
