/** Adds the files that are uploaded before the jobs that name them. */
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const schemaWithUploads: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createBlobs(db);
    await createPieces(db);
    await createNames(db);
  },
};

async function createBlobs(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('blobs')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('blob_id', 'text', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('size_bytes', 'integer', (column) => column.notNull())
    .addColumn('is_whole', 'integer', (column) => column.notNull())
    .addColumn('used_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('blobs_key', ['tenant', 'blob_id'])
    .modifyEnd(sql`strict, without rowid`)
    .execute();
  await db.schema
    .createIndex('blobs_by_digest')
    .unique()
    .on('blobs')
    .columns(['tenant', 'sha256'])
    .where(sql.ref('is_whole'), '=', sql.lit(1))
    .execute();
  await db.schema.createIndex('blobs_by_use').on('blobs').columns(['used_at']).execute();
}

/** The pieces of a blob are deleted with it. */
async function createPieces(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('blob_pieces')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('blob_id', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('content', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('blob_pieces_key', ['tenant', 'blob_id', 'position'])
    .addForeignKeyConstraint('blob_pieces_blob', ['tenant', 'blob_id'], 'blobs', ['tenant', 'blob_id'], (key) =>
      key.onDelete('cascade'),
    )
    .modifyEnd(sql`strict`)
    .execute();
}

/** What a job names goes with the job or with the blob, whichever is removed first. */
async function createNames(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job_blobs')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('blob_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_blobs_key', ['tenant', 'job_id', 'blob_id'])
    .addForeignKeyConstraint('job_blobs_job', ['tenant', 'job_id'], 'jobs', ['tenant', 'job_id'], (key) =>
      key.onDelete('cascade'),
    )
    .addForeignKeyConstraint('job_blobs_blob', ['tenant', 'blob_id'], 'blobs', ['tenant', 'blob_id'], (key) =>
      key.onDelete('cascade'),
    )
    .modifyEnd(sql`strict, without rowid`)
    .execute();
  await db.schema.createIndex('job_blobs_by_blob').on('job_blobs').columns(['tenant', 'blob_id']).execute();
}
