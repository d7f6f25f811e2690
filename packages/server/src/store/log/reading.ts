/** Reads the log: the range hashes that make up proofs, the tiles, and the places of statements. */
import { type Hash, type LeafRange, nodesOf, rangeHash, type TreeNode, tileHashes } from '@vouchbox/evidence';
import { sql } from 'kysely';
import { countBy, JOB, selectBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { LogCounts, LogPlace } from '../records/log.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { foldedHash, hashesOf, STATE } from './log-state.ts';

const selectPlace = selectBy('log_entries', JOB, ['leaf_hash', 'position']);

const selectPosition = prepared((db, { hash }: { hash: Uint8Array }) =>
  db
    .selectFrom('log_hashes')
    .select('position')
    // The level is written into the query, so that the leaves' index can serve the query.
    .where(sql<boolean>`level = 0`)
    .where('hash', '=', hash)
    .orderBy('position')
    .limit(sql.lit(1)),
);

const selectCounts = selectBy('log_state', ['state_id'], ['host', 'tree', 'size', 'signed_size']);

const countWaiting = countBy('log_entries', [], { where: { position: null } });
const countWaitingPending = countBy('log_pending', [], { where: { position: null }, also: sql`leaf_hash is not null` });

/** The hash of each range of a proof. All leaves in these ranges must have positions. */
export async function logRanges(db: StoreDatabase, ranges: readonly LeafRange[]): Promise<readonly Hash[]> {
  const hashes = new Map<string, Hash>();
  for (const node of ranges.flatMap(nodesOf)) hashes.set(nameOf(node), await hashOfNode(db, node));
  return ranges.map((range) => rangeHash(range, (node) => hashes.get(nameOf(node)) as Hash));
}

const nameOf = ({ level, index }: TreeNode) => `${level}/${index}`;

function hashOfNode(db: StoreDatabase, { level, index }: TreeNode): Promise<Hash> {
  const width = 2 ** (level % TILE_LEVELS);
  const tiles = { level: Math.floor(level / TILE_LEVELS), from: index * width, to: (index + 1) * width };
  return hashesOf(db, tiles).then(foldedHash);
}

/** How many levels of the tree lie between one level of tiles and the next. */
const TILE_LEVELS = Math.log2(tileHashes);

/** The hashes of a tile, one after the other, as in https://c2sp.org/tlog-tiles: at most 256, each of 32 bytes. */
export async function logTile(
  db: StoreDatabase,
  { level, index, width }: { readonly level: number; readonly index: number; readonly width: number },
): Promise<Uint8Array> {
  return Buffer.concat(await hashesOf(db, { level, from: index * tileHashes, to: index * tileHashes + width }));
}

/** The sizes of the log, and its count of waiting statements; null if no log was opened. */
export async function logCounts(db: StoreDatabase): Promise<LogCounts | null> {
  const state = await selectCounts.first(db, STATE);
  if (state === null) return null;
  return { ...state, waiting: (await countWaiting(db, {})) + (await countWaitingPending(db, {})) };
}

/** The place of a job's statement; null if the log has no entry for it. */
export function logPlace(db: StoreDatabase, key: JobKey): Promise<LogPlace | null> {
  return selectPlace.first(db, key);
}

/** The first position of the leaf with this hash; null if the log has none. */
export async function logPosition(db: StoreDatabase, hash: Uint8Array): Promise<number | null> {
  return (await selectPosition.first(db, { hash }))?.position ?? null;
}
