/**
 * The log of signed statements. A store has one log, which is opened once. `sequenceLog` gives out the positions. Heads are
 * signed outside the store, after they have been committed. docs/decisions/0064.
 */
import assert from 'node:assert';
import { type Hash, leafHash, nodeHash, tileHashes } from '@vouchbox/evidence';
import { type SqlBool, sql } from 'kysely';
import { insertNew, insertOf, JOB, selectBy, updateBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { LogHead, LogOpening, LogState } from '../records/log.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';

type HeadOfTree = LogHead & Pick<LogState, 'tree'>;

/** The key of the log's state, which is one row. */
export const STATE = { state_id: 1 } as const;

/** A tree with only its first leaf and without a signed head. */
const FIRST = { size: 1, signed_size: 0, checkpoint: null, rekor_head: null } as const;

const insertState = insertNew('log_state', ['host', 'tree', 'log_key', 'opening'], { ...STATE, ...FIRST });

const selectState = selectBy(
  'log_state',
  ['state_id'],
  ['host', 'tree', 'log_key', 'size', 'signed_size', 'checkpoint', 'rekor_head', 'opening'],
);

const advance = prepared((db, { tree, from, to }: { tree: number; from: number; to: number }) =>
  db
    .updateTable('log_state')
    .set({ size: to })
    .where('state_id', '=', STATE.state_id)
    .where('tree', '=', tree)
    .where('size', '=', from),
);

const updateHead = prepared((db, { tree, size, checkpoint, rekor_head }: HeadOfTree) =>
  db
    .updateTable('log_state')
    .set({ signed_size: size, checkpoint, rekor_head })
    .where('state_id', '=', STATE.state_id)
    .where('tree', '=', tree)
    .where('signed_size', '<', size)
    .where('size', '>=', size),
);

const insertHash = insertOf('log_hashes', ['level', 'position', 'hash']);

const selectHashes = prepared((db, { level, from, to }: { level: number; from: number; to: number }) =>
  db
    .selectFrom('log_hashes')
    .select('hash')
    .where('level', '=', level)
    .where('position', '>=', from)
    .where('position', '<', to)
    .orderBy('position'),
);

const selectWaiting = prepared((db, { most }: { most: number }) =>
  db
    .selectFrom('log_entries')
    .select(['tenant', 'job_id', 'leaf_hash'])
    .where('position', 'is', null)
    .orderBy('job_id')
    .limit(most),
);

const selectPending = prepared((db, { most }: { most: number }) =>
  db
    .selectFrom('log_pending')
    .select(['tenant', 'job_id', 'statement', 'leaf_hash'])
    .where('position', 'is', null)
    .where('leaf_hash', 'is not', null)
    .orderBy('stated_at')
    .limit(most),
);

const placePending = updateBy('log_pending', [...JOB, 'statement'], ['position']);
const place = updateBy('log_entries', JOB, ['position']);

/** The state of the log; null if none was opened. */
export async function logState(db: StoreDatabase): Promise<LogState | null> {
  const row = await selectState.first(db, STATE);
  if (row === null) return null;
  const { signed_size, checkpoint, rekor_head, ...state } = row;
  const isSigned = checkpoint !== null && rekor_head !== null;
  return { ...state, head: isSigned ? { size: signed_size, checkpoint, rekor_head } : null };
}

/** Opens the log with its first leaf, unless it is already open. Returns the state of the log. */
export async function openLog(db: StoreDatabase, { body, ...opening }: LogOpening): Promise<LogState | null> {
  if ((await insertState.run(db, opening)) > 0) insertHash.send(db, { level: 0, position: 0, hash: leafHash(body) });
  return await logState(db);
}

/**
 * Gives positions to at most `most` of the waiting statements, if the log still has this tree with `size` leaves. If two nodes
 * try at once, only one succeeds. Returns the new size; null if another node was first.
 */
export async function sequenceLog(
  db: StoreDatabase,
  { tree, size, most }: Pick<LogState, 'tree' | 'size'> & { readonly most: number },
): Promise<number | null> {
  const waiting = await waitingFor(db, most);
  if (waiting.length === 0) return size;
  const next = size + waiting.length;
  if ((await advance.run(db, { tree, from: size, to: next })) === 0) return null;
  for (const [at, { tenant, job_id, leaf_hash, statement }] of waiting.entries()) {
    const position = size + at;
    insertHash.send(db, { level: 0, position, hash: leaf_hash });
    if (statement === null) place.send(db, { tenant, job_id, position });
    else placePending.send(db, { tenant, job_id, statement, position });
  }
  await fillLevels(db, size, next);
  return next;
}

/** Statements that wait for a position: first the pending statements, which must be logged by a given time, then results. */
async function waitingFor(db: StoreDatabase, most: number): Promise<readonly Waiting[]> {
  const pending = await selectPending.all(db, { most });
  const results = await selectWaiting.all(db, { most: most - pending.length });
  return [
    ...pending.map((row) => ({ ...row, leaf_hash: row.leaf_hash as Uint8Array })),
    ...results.map((row) => ({ ...row, statement: null })),
  ];
}

interface Waiting extends JobKey {
  readonly leaf_hash: Uint8Array;
  /** The number of the pending statement; null for the job's result. */
  readonly statement: number | null;
}

/** Adds the hash of each tile that became full. */
async function fillLevels(db: StoreDatabase, from: number, to: number): Promise<void> {
  for (let [level, first, end] = [0, from, to]; ; level++) {
    [first, end] = [Math.floor(first / tileHashes), Math.floor(end / tileHashes)];
    if (first === end) return;
    for (let tile = first; tile < end; tile++) {
      const hashes = await hashesOf(db, { level, from: tile * tileHashes, to: (tile + 1) * tileHashes });
      insertHash.send(db, { level: level + 1, position: tile, hash: foldedHash(hashes) });
    }
  }
}

/** The hashes on a level, from position `from` up to but not including `to`. */
export async function hashesOf(
  db: StoreDatabase,
  range: { readonly level: number; readonly from: number; readonly to: number },
): Promise<Hash[]> {
  return (await selectHashes.all(db, range)).map(({ hash }) => new Uint8Array(hash));
}

/** The root hash of a full subtree, from all hashes on one of its levels. The number of these hashes is a power of two. */
export function foldedHash(hashes: readonly Hash[]): Hash {
  const [first, second] = hashes;
  assert(first !== undefined, 'a subtree has leaves');
  if (second === undefined) return first;
  const above: Hash[] = [];
  for (let at = 0; at < hashes.length; at += 2) above.push(nodeHash(hashes[at] as Hash, hashes[at + 1] as Hash));
  return foldedHash(above);
}

const replaceState = prepared((db, { from, tree, log_key, opening }: Omit<LogOpening, 'body'> & { from: number }) =>
  db
    .updateTable('log_state')
    .set({ tree, log_key, opening, ...FIRST })
    .where('state_id', '=', STATE.state_id)
    .where('tree', '=', from),
);

const deleteHashes = prepared((db) => db.deleteFrom('log_hashes'));

const displaced = { to: { position: null }, also: sql<SqlBool>`position is not null` };
const displaceAll = updateBy('log_entries', [], [], displaced);
const displacePending = updateBy('log_pending', [], [], displaced);

const emptyState = updateBy('log_state', ['state_id'], [], { to: { size: 0 } });

/**
 * Opens the log's next tree in place of the tree `from`, whose hashes are all deleted. Every statement whose job still exists
 * waits for a position again. False if the log no longer has the tree `from`.
 */
export async function reopenLog(
  db: StoreDatabase,
  { from, opening: { body, ...opening } }: { readonly from: number; readonly opening: LogOpening },
): Promise<boolean> {
  if ((await replaceState.run(db, { from, ...opening })) === 0) return false;
  await deleteHashes.run(db, {});
  await displaceAll.run(db, {});
  await displacePending.run(db, {});
  insertHash.send(db, { level: 0, position: 0, hash: leafHash(body) });
  return true;
}

/**
 * Closes the log of a copied store until the next tree is opened; the last head is still served. The size becomes 0, but the
 * hashes stay. So any version that tries to add a leaf fails: the hash of leaf 0 is already there.
 */
export async function closeLog(db: StoreDatabase): Promise<boolean> {
  return (await emptyState.run(db, STATE)) > 0;
}

/** Keeps a signed head if its tree is open and has enough leaves, and if it is larger than the kept head. False if not kept. */
export async function storeLogHead(db: StoreDatabase, head: HeadOfTree): Promise<boolean> {
  return (await updateHead.run(db, head)) > 0;
}
