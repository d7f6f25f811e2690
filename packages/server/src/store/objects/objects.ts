/**
 * Large contents that lie in an object store instead of their rows. An object's id is never used again, so a late request for an
 * old object harms no other object. An object's state says what may become of it:
 *
 * - `putting`: its bytes are being put, and nobody reads them
 * - `stored`: contents of jobs are read from it
 * - `loose`: a job that used it was removed, and other jobs may use it
 * - `condemned`: nobody uses it or ever will, and it is to be removed
 *
 * An object's row is deleted only after the object itself has been removed, so no object is forgotten.
 */
import { type SqlBool, sql } from 'kysely';
import { countBy, deleteBy, hasKey, insertOf, JOB, OBJECT, same, selectBy, updateBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { JobKey, ObjectKey, StoredObject } from '../records/rows.ts';
import type { ObjectTable, StoreDatabase } from '../schema.ts';
import { resultPosition } from './content-places.ts';

/** One content of a job. */
export interface ContentKey extends JobKey {
  readonly position: number;
}

/** The bytes of a content that lies in its row. */
export interface ContentHere {
  readonly content: Uint8Array;
  /** A text that distinguishes a job's result from a later result that replaces it. */
  readonly version: string;
}

export interface PlaceObject extends ContentKey, StoredObject {
  readonly version: string;
  readonly at: string;
}

interface Large {
  readonly bytesMin: number;
  readonly limit: number;
}

const CONTENT = [...JOB, 'position'] as const;

/** Whether a content can be moved. The indexes of large contents have this condition, so a query can use them. */
const isLarge = (column: 'content' | 'result_artifact', bytesMin: number) =>
  sql<SqlBool>`length(${sql.ref(column)}) >= 65536 and length(${sql.ref(column)}) >= ${bytesMin}`;

const largeArtifacts = prepared((db, { bytesMin, limit }: Large) =>
  db.selectFrom('artifacts').select(CONTENT).where(isLarge('content', bytesMin)).limit(limit),
);

const largeResults = prepared((db, { bytesMin, limit }: Large) =>
  db.selectFrom('attestations').select(JOB).where(isLarge('result_artifact', bytesMin)).limit(limit),
);

const selectArtifact = prepared((db, key: ContentKey) =>
  db
    .selectFrom('artifacts')
    .select(['content', sql<string>`''`.as('version')])
    .where(hasKey('artifacts', CONTENT, key)),
);

const selectResult = prepared((db, key: JobKey) =>
  db
    .selectFrom('attestations')
    .select(['result_artifact as content', 'created_at as version'])
    .where(hasKey('attestations', JOB, key)),
);

const emptyArtifact = prepared((db, row: PlaceObject & { readonly nothing: Uint8Array }) =>
  db
    .updateTable('artifacts')
    .set({ content: row.nothing })
    .where(hasKey('artifacts', CONTENT, row))
    .where(sql<SqlBool>`length(content) = ${row.size_bytes}`),
);

const emptyResult = prepared((db, row: PlaceObject & { readonly nothing: Uint8Array }) =>
  db
    .updateTable('attestations')
    .set({ result_artifact: row.nothing })
    .where(hasKey('attestations', JOB, row))
    .where('created_at', '=', row.version)
    .where(sql<SqlBool>`length(result_artifact) = ${row.size_bytes}`),
);

const isAlive = sql<SqlBool>`state <> 'condemned'`;

const selectAlike = selectBy('objects', ['tenant', 'sha256'], ['object_id', 'state'], { also: isAlive });

const insertObject = insertOf('objects', [...OBJECT, 'sha256', 'size_bytes', 'state', 'changed_at']);

/** Records the use of an object, unless it is condemned. On PostgreSQL, also waits for a transaction about to condemn it. */
const touch = updateBy('objects', OBJECT, ['changed_at'], { also: isAlive });

const makeStored = updateBy('objects', OBJECT, [], { to: { state: 'stored' }, also: isAlive });

const insertUse = insertOf('object_uses', [...CONTENT, 'object_id']);

/** Marks a job's objects as loose, because the job is about to be removed; part of the transaction that removes it. */
export const loosenObjects = prepared((db, key: JobKey) =>
  db
    .updateTable('objects')
    .set({ state: 'loose' })
    .where('tenant', '=', key.tenant)
    .where('object_id', 'in', (uses) =>
      uses
        .selectFrom('object_uses')
        .select('object_uses.object_id')
        .where(hasKey('object_uses', JOB, key)),
    )
    .where('state', '=', sql.lit('stored')),
);

const deleteUse = deleteBy('object_uses', CONTENT);

const isUsed = sql<SqlBool>`exists (select 1 from object_uses where object_uses.tenant = objects.tenant and object_uses.object_id = objects.object_id)`;

/** A condition on an object's state. The index of states leaves out stored objects, so the query must exclude them, too. */
const inState = (state: Exclude<ObjectTable['state'], 'stored'>) =>
  sql<SqlBool>`state = ${sql.lit(state)} and state <> 'stored'`;

const keepUsed = prepared((db) =>
  db.updateTable('objects').set({ state: 'stored' }).where(inState('loose')).where(isUsed),
);

const condemnUnused = prepared((db, { at }: { readonly at: string }) =>
  db
    .updateTable('objects')
    .set({ state: 'condemned', changed_at: at })
    .where(inState('loose'))
    .where(sql<SqlBool>`not ${isUsed}`),
);

const condemnAbandoned = prepared((db, { at, begunBefore }: { readonly at: string; readonly begunBefore: string }) =>
  db
    .updateTable('objects')
    .set({ state: 'condemned', changed_at: at })
    .where(inState('putting'))
    .where('changed_at', '<', begunBefore),
);

const selectCondemned = prepared((db, { limit }: { readonly limit: number }) =>
  db
    .selectFrom('objects')
    .select(['tenant', 'object_id', 'sha256', 'size_bytes'])
    .where(inState('condemned'))
    .orderBy('changed_at')
    .limit(limit),
);

const deleteCondemned = deleteBy('objects', OBJECT, { state: 'condemned' });
const postponeCondemned = updateBy('objects', OBJECT, ['changed_at'], { where: { state: 'condemned' } });

const countCondemned = countBy('objects', [], { also: inState('condemned') });

const countLarge = prepared((db, { bytesMin }: { readonly bytesMin: number }) =>
  db.selectNoFrom((row) => {
    const rows = row.fn.countAll<number>().as('rows');
    return [
      row.selectFrom('artifacts').select(rows).where(isLarge('content', bytesMin)).as('artifacts'),
      row.selectFrom('attestations').select(rows).where(isLarge('result_artifact', bytesMin)).as('results'),
    ];
  }),
);

const selectUsed = prepared((db, key: ContentKey) =>
  db
    .selectFrom('object_uses')
    .innerJoin('objects', (join) => join.on(same(OBJECT, 'objects', 'object_uses')))
    .select(['objects.tenant', 'objects.object_id', 'objects.sha256', 'objects.size_bytes'])
    .where(hasKey('object_uses', CONTENT, key)),
);

const selectArtifactObject = prepared((db, key: JobKey & { readonly path: string }) =>
  db
    .selectFrom('artifacts')
    .innerJoin('object_uses', (join) =>
      join.on(same(JOB, 'object_uses', 'artifacts')).onRef('object_uses.position', '=', 'artifacts.position'),
    )
    .innerJoin('objects', (join) => join.on(same(OBJECT, 'objects', 'object_uses')))
    .select(['objects.tenant', 'objects.object_id', 'objects.sha256', 'objects.size_bytes'])
    .where(hasKey('artifacts', [...JOB, 'path'], key)),
);

/** Contents in their rows, of at least `bytesMin` and `movedBytesMin` bytes: at most `limit` artifacts and `limit` results. */
export async function contentsHere(db: StoreDatabase, large: Large): Promise<readonly ContentKey[]> {
  const artifacts = await largeArtifacts.all(db, large);
  const results = await largeResults.all(db, large);
  return [...artifacts, ...results.map((key) => ({ ...key, position: resultPosition }))];
}

/** The bytes of a content; null if they do not lie in its row. */
export async function contentHere(db: StoreDatabase, key: ContentKey): Promise<ContentHere | null> {
  const isResult = key.position === resultPosition;
  const found: ContentHere | null = isResult ? await selectResult.first(db, key) : await selectArtifact.first(db, key);
  return found === null || found.content.length === 0 ? null : found;
}

/** The object in which a job's content lies; null if the content lies in none. */
export function objectOf(db: StoreDatabase, key: ContentKey): Promise<StoredObject | null> {
  return selectUsed.first(db, key);
}

/** The object in which a job's artifact lies; null if the artifact lies in none. */
export function objectOfArtifact(
  db: StoreDatabase,
  { key, path }: { readonly key: JobKey; readonly path: string },
): Promise<StoredObject | null> {
  return selectArtifactObject.first(db, { ...key, path });
}

/** How many contents are to be moved, and how many objects are to be removed. */
export async function objectCounts(
  db: StoreDatabase,
  large: { readonly bytesMin: number },
): Promise<{ readonly to_move: number; readonly to_remove: number }> {
  const { artifacts, results } = (await countLarge.first(db, large)) ?? {};
  return { to_move: (artifacts ?? 0) + (results ?? 0), to_remove: await countCondemned(db, {}) };
}

/**
 * Chooses the object into which a tenant's bytes are to be put: one that the tenant already has, one begun by another node or an
 * earlier try, or the given one. `isStored` tells whether contents may already be read from the object.
 */
export async function beginObject(
  db: StoreDatabase,
  { at, ...object }: StoredObject & { readonly at: string },
): Promise<{ readonly object_id: string; readonly isStored: boolean }> {
  const alike = await selectAlike.all(db, object);
  const best = alike.find(({ state }) => state !== 'putting') ?? alike[0];
  if (best !== undefined && (await touch.run(db, { ...object, object_id: best.object_id, changed_at: at })) > 0) {
    return { object_id: best.object_id, isStored: best.state !== 'putting' };
  }
  insertObject.send(db, { ...object, state: 'putting', changed_at: at });
  return { object_id: object.object_id, isStored: false };
}

/**
 * Empties a content's row, so that the content is read from an object whose bytes were read back. If the row no longer has the
 * content, the content was replaced, or the object is condemned, nothing changes, and the answer is false.
 */
export async function placeObject(db: StoreDatabase, placed: PlaceObject): Promise<boolean> {
  if ((await touch.run(db, { ...placed, changed_at: placed.at })) === 0) return false;
  const empty = placed.position === resultPosition ? emptyResult : emptyArtifact;
  if ((await empty.run(db, { ...placed, nothing: new Uint8Array() })) === 0) return false;
  makeStored.send(db, placed);
  insertUse.send(db, placed);
  return true;
}

/** Ends the use of an object by a withdrawn result; part of the transaction that withdraws the result. */
export function releaseResult(db: StoreDatabase, key: JobKey): void {
  loosenObjects.send(db, key);
  deleteUse.send(db, { ...key, position: resultPosition });
}

/**
 * Condemns objects that nobody uses, and objects that were begun before `begunBefore` and never completed. Returns at most
 * `limit` condemned objects to remove.
 */
export async function condemnObjects(
  db: StoreDatabase,
  input: { readonly at: string; readonly begunBefore: string; readonly limit: number },
): Promise<readonly StoredObject[]> {
  await keepUsed.run(db, {});
  await condemnUnused.run(db, input);
  await condemnAbandoned.run(db, input);
  return await selectCondemned.all(db, input);
}

/** Deletes the row of a condemned object after the object was removed. */
export async function forgetObject(db: StoreDatabase, key: ObjectKey): Promise<void> {
  await deleteCondemned.run(db, key);
}

/** Moves an object that could not be removed to the end of the condemned objects. */
export async function postponeObject(db: StoreDatabase, key: ObjectKey & { readonly at: string }): Promise<void> {
  await postponeCondemned.run(db, { ...key, changed_at: key.at });
}
