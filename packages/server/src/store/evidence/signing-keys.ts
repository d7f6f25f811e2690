/**
 * The public halves of the keys that the nodes of a shared store sign with, and which of them a living node uses. Private halves
 * are never in the store. Only on PostgreSQL.
 */
import { sql } from 'kysely';
import { insertNew, selectBy, updateBy } from '../by-column.ts';
import { prepared, requireNode } from '../prepared.ts';
import type { SigningKeyTable, StoreDatabase } from '../schema.ts';

/** The public half of a key. */
export type RegisteredKey = Readonly<Omit<SigningKeyTable, 'since'>>;

const insertKey = insertNew('signing_keys', ['key_id', 'public_key_pem']);

/** Stores a retired key as older than all stored keys, so that the newest key is still the one that signs. */
const insertRetired = insertNew('signing_keys', ['key_id', 'public_key_pem'], {
  since: sql<string>`coalesce((select min(since) from signing_keys), now()) - interval '1 millisecond'`,
});

const noteUse = updateBy('nodes', ['node'], ['signs_with']);

const lockUse = prepared((db) => db.selectFrom('holders').select('turn').forUpdate());

const selectOthers = prepared((db, { key_id, node }: { key_id: string; node: number }) =>
  db
    .selectFrom('nodes')
    .select('signs_with')
    .where('signs_with', '!=', key_id)
    .where('node', '!=', node)
    .where(sql<boolean>`lease_until >= now()`),
);

const selectKeys = selectBy('signing_keys', [], ['key_id', 'public_key_pem'], { orderBy: 'since' });

/** A node's key, and the retired keys that the node knows. */
export interface KeyRegistration extends RegisteredKey {
  readonly isRotation: boolean;
  /** The public halves of the keys that signed before this key, oldest first. */
  readonly retired: readonly RegisteredKey[];
}

/**
 * Records which key this node signs with. If a living node signs with a key that this node does not replace, that key is returned
 * and nothing is stored. A rotation replaces only the key of this node. Afterwards, every node can check what the retired keys
 * signed, for example statements from before the store had several nodes.
 */
export async function registerKey(
  db: StoreDatabase,
  { isRotation, retired, ...key }: KeyRegistration,
): Promise<string | null> {
  const node = requireNode(db);
  await lockUse.first(db, {});
  const other = isRotation ? null : await foreignKey(db, { ...key, retired }, node);
  if (other !== null) return other;
  for (const one of retired.toReversed()) insertRetired.send(db, one);
  insertKey.send(db, key);
  noteUse.send(db, { node, signs_with: key.key_id });
  return null;
}

/**
 * A living node's key that this node's key does not replace; null if there is none. A node's last key counts until the node signs
 * with its next key: after a rotation, another node may start first. A key that was itself replaced replaces no other key.
 */
async function foreignKey(
  db: StoreDatabase,
  { key_id, retired }: Omit<KeyRegistration, 'isRotation'>,
  node: number,
): Promise<string | null> {
  const others = (await selectOthers.all(db, { key_id, node })).flatMap(({ signs_with }) => signs_with ?? []);
  const known = others.length === 0 ? [] : (await selectKeys.all(db, {})).map((key) => key.key_id);
  const isReplaced = (other: string) =>
    known.includes(key_id)
      ? known.indexOf(other) < known.indexOf(key_id)
      : retired.some((former) => former.key_id === other);
  return others.find((other) => !isReplaced(other)) ?? null;
}

/** The public halves of all keys with which nodes of this store ever signed, oldest first. */
export function registeredKeys(db: StoreDatabase): Promise<readonly RegisteredKey[]> {
  return selectKeys.all(db, {});
}
