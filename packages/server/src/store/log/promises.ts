/**
 * Promises for accepted jobs, and pending statements about promised jobs. The content of each is stored in one transaction, and
 * signed later outside the store. So two signers sign the same bytes, and the first signature is kept. docs/decisions/0066.
 */
import { randomBytes } from 'node:crypto';
import { saltBytes } from '@vouchbox/evidence';
import { sql } from 'kysely';
import { hasIn, hasKey, insertOf, JOB, same, selectBy, updateBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { PromiseTimes } from '../records/inputs.ts';
import type {
  PendingRow,
  PromiseRow,
  SignedPending,
  SignedPromise,
  UnsignedPending,
  UnsignedPromise,
} from '../records/promises.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

const selectUnsigned = prepared((db, { limit }: { limit: number }) =>
  db
    .selectFrom('job_promises')
    .innerJoin('jobs', (join) => join.on(same(JOB, 'jobs', 'job_promises')))
    .innerJoin('job_specs', (join) => join.on(same(JOB, 'job_specs', 'job_promises')))
    .select([
      'job_promises.tenant',
      'job_promises.job_id',
      'job_promises.answer_by',
      'jobs.created_at',
      'jobs.tenant_number',
      'job_specs.evidence',
    ])
    .where('job_promises.envelope', 'is', null)
    .orderBy('job_promises.job_id')
    .limit(limit),
);

const signPromise = updateBy('job_promises', JOB, ['key_id', 'envelope'], { where: { envelope: null } });
const selectPromise = selectBy('job_promises', JOB, ['envelope', 'key_id']);

const selectNextDue = prepared((db) =>
  db
    .selectFrom('job_promises')
    .select('due_at')
    .where('due_at', 'is not', null)
    .where('envelope', 'is not', null)
    .orderBy('due_at')
    .limit(sql.lit(1)),
);

/** Settles promises whose jobs have their results in the log: no more statements are due for them. */
const settle = prepared((db, { now }: { now: string }) =>
  db
    .updateTable('job_promises')
    .set({ due_at: null })
    .where('due_at', '<=', now)
    .where(hasIn('log_entries', JOB, { of: 'job_promises', where: sql`log_entries.position is not null` })),
);

const selectDue = prepared((db, { now, limit }: { now: string; limit: number }) =>
  db
    .selectFrom('job_promises')
    .select(['tenant', 'job_id', 'due_at'])
    .where('due_at', '<=', now)
    .where('envelope', 'is not', null)
    .orderBy('due_at')
    .limit(limit),
);

const postpone = prepared((db, row: JobKey & { from: string | null; due_at: string }) =>
  db
    .updateTable('job_promises')
    .set({ due_at: row.due_at })
    .where(hasKey('job_promises', JOB, row))
    .where('due_at', '=', row.from),
);

const selectLast = prepared((db, key: JobKey) =>
  db
    .selectFrom('log_pending')
    .select('statement')
    .where(hasKey('log_pending', JOB, key))
    .orderBy('statement', 'desc')
    .limit(sql.lit(1)),
);

const insertPending = insertOf('log_pending', [...JOB, 'statement', 'stated_at', 'answer_by', 'salt']);

const selectUnsignedPending = prepared((db, { limit }: { limit: number }) =>
  db
    .selectFrom('log_pending')
    .innerJoin('job_promises', (join) => join.on(same(JOB, 'job_promises', 'log_pending')))
    .innerJoin('jobs', (join) => join.on(same(JOB, 'jobs', 'log_pending')))
    .select([
      'log_pending.tenant',
      'log_pending.job_id',
      'log_pending.statement',
      'log_pending.stated_at',
      'log_pending.answer_by',
      'log_pending.salt',
      'jobs.tenant_number',
      'job_promises.envelope as promise',
    ])
    .where('log_pending.envelope', 'is', null)
    .orderBy('log_pending.stated_at')
    .limit(limit),
);

const signPending = updateBy('log_pending', [...JOB, 'statement'], ['key_id', 'envelope', 'leaf_hash'], {
  where: { envelope: null },
});

const selectPending = prepared((db, asked: JobKey & { limit: number }) =>
  db
    .selectFrom('log_pending')
    .select(['stated_at', 'answer_by', 'position', 'envelope'])
    .where(hasKey('log_pending', JOB, asked))
    .where('envelope', 'is not', null)
    .orderBy('statement', 'desc')
    .limit(asked.limit),
);

/** Promises that wait for their signature, oldest job first. */
export async function unsignedPromises(
  db: StoreDatabase,
  asked: { readonly limit: number },
): Promise<readonly UnsignedPromise[]> {
  const rows = await selectUnsigned.all(db, asked);
  return rows.flatMap(({ evidence, ...row }) => (evidence === null ? [] : [{ ...row, evidence }]));
}

/** Stores signatures for promises that have none yet. */
export async function storePromises(
  db: StoreDatabase,
  { promises }: { readonly promises: readonly SignedPromise[] },
): Promise<void> {
  signPromise.sendEach(db, promises);
}

/** The promise of a job; null if the job has none, or if the tenant has no such job. */
export function jobPromise(db: StoreDatabase, key: JobKey): Promise<PromiseRow | null> {
  return selectPromise.first(db, key);
}

/** When the next promise is due; null if none is. */
export async function nextPromiseDue(db: StoreDatabase): Promise<string | null> {
  return (await selectNextDue.first(db, {}))?.due_at ?? null;
}

/**
 * Makes at most `limit` pending statements, one for each signed promise that is due and whose job has no result in the log. Each
 * promise then gets a new due time. Returns how many were made; 0 means that none is left.
 */
export async function drawPending(
  db: StoreDatabase,
  { now, limit, ...times }: PromiseTimes & { readonly now: string; readonly limit: number },
): Promise<number> {
  await settle.run(db, { now });
  let drawn = 0;
  for (const { due_at, ...key } of await selectDue.all(db, { now, limit })) {
    // If two nodes try to make the same statement, only one of them finds the row unchanged.
    if ((await postpone.run(db, { ...key, from: due_at, due_at: times.due_at })) === 0) continue;
    const statement = ((await selectLast.first(db, key))?.statement ?? 0) + 1;
    const salt = randomBytes(saltBytes).toString('hex');
    insertPending.send(db, { ...key, statement, stated_at: now, answer_by: times.answer_by, salt });
    drawn++;
  }
  return drawn;
}

/** Statements that wait for their signature, oldest first. */
export async function unsignedPending(
  db: StoreDatabase,
  asked: { readonly limit: number },
): Promise<readonly UnsignedPending[]> {
  const rows = await selectUnsignedPending.all(db, asked);
  return rows.flatMap(({ promise, ...row }) => (promise === null ? [] : [{ ...row, promise }]));
}

/** Stores signatures for statements that have none yet. The statements then wait for their places in the log. */
export async function storePending(
  db: StoreDatabase,
  { statements }: { readonly statements: readonly SignedPending[] },
): Promise<void> {
  signPending.sendEach(db, statements);
}

/** The newest pending statements of a job, oldest first. */
export async function pendingOf(
  db: StoreDatabase,
  { key, limit }: { readonly key: JobKey; readonly limit: number },
): Promise<readonly PendingRow[]> {
  const rows = await selectPending.all(db, { ...key, limit });
  return rows.flatMap(({ envelope, ...row }) => (envelope === null ? [] : [{ ...row, envelope }])).toReversed();
}
