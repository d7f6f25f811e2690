/**
 * Large contents that lie in an object store instead of their rows. Each is an object whose id is used once and never again, so
 * whatever a late request still does to an old object harms no other object. The state of an object says what may become of it:
 *
 * - `putting`: its bytes are being put, and nobody reads it
 * - `stored`: contents of jobs are read from it
 * - `loose`: a job that used it was removed, and other jobs may use it
 * - `condemned`: nobody uses it, nobody ever will, and it is to be removed
 *
 * The row of an object is deleted only after the object itself was removed, so no object is forgotten.
 */
import { type SqlBool, sql } from 'kysely';
import { deleteBy, insertOf, JOB, OBJECT, same, updateBy } from '../by-column.ts';
import { prepared } from '../prepared.ts';
import type { JobKey, ObjectKey, StoredObject } from '../records/rows.ts';
import type { ObjectTable, StoreDatabase } from '../schema.ts';
import { resultPosition } from './content-places.ts';

/** One content of a job. */
export interface ContentKey extends JobKey {
  readonly position: number;
}

/** The bytes of a content as its row has them. */
export interface ContentHere {
  readonly content: Uint8Array;
  /** A text that distinguishes a result of a job from another result that replaced it. */
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

const largeArtifacts = prepared((db, { bytesMin, limit }: Large) =>
  db
    .selectFrom('artifacts')
    .select(['tenant', 'job_id', 'position'])
    .where(sql<SqlBool>`length(content) >= 65536`)
    .where(sql<SqlBool>`length(content) >= ${bytesMin}`)
    .limit(limit),
);

const largeResults = prepared((db, { bytesMin, limit }: Large) =>
  db
    .selectFrom('attestations')
    .select(['tenant', 'job_id'])
    .where(sql<SqlBool>`length(result_artifact) >= 65536`)
    .where(sql<SqlBool>`length(result_artifact) >= ${bytesMin}`)
    .limit(limit),
);

const selectArtifact = prepared((db, { tenant, job_id, position }: ContentKey) =>
  db
    .selectFrom('artifacts')
    .select(['content', sql<string>`''`.as('version')])
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id)
    .where('position', '=', position),
);

const selectResult = prepared((db, { tenant, job_id }: JobKey) =>
  db
    .selectFrom('attestations')
    .select(['result_artifact as content', 'created_at as version'])
    .where('tenant', '=', tenant)
    .where('job_id', '=', job_id),
);

const emptyArtifact = prepared((db, row: PlaceObject & { readonly nothing: Uint8Array }) =>
  db
    .updateTable('artifacts')
    .set({ content: row.nothing })
    .where('tenant', '=', row.tenant)
    .where('job_id', '=', row.job_id)
    .where('position', '=', row.position)
    .where(sql<SqlBool>`length(content) = ${row.size_bytes}`),
);

const emptyResult = prepared((db, row: PlaceObject & { readonly nothing: Uint8Array }) =>
  db
    .updateTable('attestations')
    .set({ result_artifact: row.nothing })
    .where('tenant', '=', row.tenant)
    .where('job_id', '=', row.job_id)
    .where('created_at', '=', row.version)
    .where(sql<SqlBool>`length(result_artifact) = ${row.size_bytes}`),
);

const selectAlike = prepared((db, { tenant, sha256 }: Pick<StoredObject, 'tenant' | 'sha256'>) =>
  db
    .selectFrom('objects')
    .select(['object_id', 'state'])
    .where('tenant', '=', tenant)
    .where('sha256', '=', sha256)
    .where('state', '<>', sql.lit('condemned')),
);

const insertObject = insertOf('objects', [...OBJECT, 'sha256', 'size_bytes', 'state', 'changed_at']);

/** Records the use of an object, unless it is condemned. On PostgreSQL, also waits for a transaction about to condemn it. */
const touch = prepared((db, { tenant, object_id, at }: ObjectKey & { readonly at: string }) =>
  db
    .updateTable('objects')
    .set({ changed_at: at })
    .where('tenant', '=', tenant)
    .where('object_id', '=', object_id)
    .where('state', '<>', sql.lit('condemned')),
);

const makeStored = prepared((db, { tenant, object_id }: ObjectKey) =>
  db
    .updateTable('objects')
    .set({ state: 'stored' })
    .where('tenant', '=', tenant)
    .where('object_id', '=', object_id)
    .where('state', '<>', sql.lit('condemned')),
);

const insertUse = insertOf('object_uses', [...JOB, 'position', 'object_id']);

const loosen = prepared((db, { tenant, job_id }: JobKey) =>
  db
    .updateTable('objects')
    .set({ state: 'loose' })
    .where('tenant', '=', tenant)
    .where('object_id', 'in', (uses) =>
      uses
        .selectFrom('object_uses')
        .select('object_uses.object_id')
        .where('object_uses.tenant', '=', tenant)
        .where('object_uses.job_id', '=', job_id),
    )
    .where('state', '=', sql.lit('stored')),
);

const deleteUse = deleteBy('object_uses', [...JOB, 'position']);

const isUsed = sql<SqlBool>`exists (select 1 from object_uses where object_uses.tenant = objects.tenant and object_uses.object_id = objects.object_id)`;

/** The condition on the state of an object. The index of states leaves out stored objects, so a query must exclude them, too. */
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

const countCondemned = prepared((db) =>
  db
    .selectFrom('objects')
    .select((row) => row.fn.countAll<number>().as('objects'))
    .where(inState('condemned')),
);

const countArtifacts = prepared((db, { bytesMin }: { readonly bytesMin: number }) =>
  db
    .selectFrom('artifacts')
    .select((row) => row.fn.countAll<number>().as('contents'))
    .where(sql<SqlBool>`length(content) >= 65536`)
    .where(sql<SqlBool>`length(content) >= ${bytesMin}`),
);

const countResults = prepared((db, { bytesMin }: { readonly bytesMin: number }) =>
  db
    .selectFrom('attestations')
    .select((row) => row.fn.countAll<number>().as('contents'))
    .where(sql<SqlBool>`length(result_artifact) >= 65536`)
    .where(sql<SqlBool>`length(result_artifact) >= ${bytesMin}`),
);

const selectUsed = prepared((db, { tenant, job_id, position }: ContentKey) =>
  db
    .selectFrom('object_uses')
    .innerJoin('objects', (join) => join.on(same(OBJECT, 'objects', 'object_uses')))
    .select(['objects.tenant', 'objects.object_id', 'objects.sha256', 'objects.size_bytes'])
    .where('object_uses.tenant', '=', tenant)
    .where('object_uses.job_id', '=', job_id)
    .where('object_uses.position', '=', position),
);

const selectArtifactObject = prepared((db, { tenant, job_id, path }: JobKey & { readonly path: string }) =>
  db
    .selectFrom('artifacts')
    .innerJoin('object_uses', (join) =>
      join.on(same(JOB, 'object_uses', 'artifacts')).onRef('object_uses.position', '=', 'artifacts.position'),
    )
    .innerJoin('objects', (join) => join.on(same(OBJECT, 'objects', 'object_uses')))
    .select(['objects.tenant', 'objects.object_id', 'objects.sha256', 'objects.size_bytes'])
    .where('artifacts.tenant', '=', tenant)
    .where('artifacts.job_id', '=', job_id)
    .where('artifacts.path', '=', path),
);

/** Contents of at least `bytesMin` bytes, and of `movedBytesMin`, that are in their rows: at most `limit` of each kind. */
export async function contentsHere(db: StoreDatabase, large: Large): Promise<readonly ContentKey[]> {
  const artifacts = await largeArtifacts.all(db, large);
  const results = await largeResults.all(db, large);
  return [...artifacts, ...results.map((key) => ({ ...key, position: resultPosition }))];
}

/** The bytes of a content that is in its row; null if the row does not have it. */
export async function contentHere(db: StoreDatabase, key: ContentKey): Promise<ContentHere | null> {
  const isResult = key.position === resultPosition;
  const found: ContentHere | null = isResult ? await selectResult.first(db, key) : await selectArtifact.first(db, key);
  return found === null || found.content.length === 0 ? null : found;
}

/** The object in which a content of a job lies; null if it lies in none. */
export function objectOf(db: StoreDatabase, key: ContentKey): Promise<StoredObject | null> {
  return selectUsed.first(db, key);
}

/** The object in which an artifact of a job lies; null if it lies in none. */
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
  const artifacts = Number((await countArtifacts.first(db, large))?.contents ?? 0);
  const results = Number((await countResults.first(db, large))?.contents ?? 0);
  return { to_move: artifacts + results, to_remove: Number((await countCondemned.first(db, {}))?.objects ?? 0) };
}

/**
 * Names the object into which bytes of a tenant are to be put: one that the tenant already has, one that another node or an
 * earlier try began, or the given one. `isStored` tells whether contents are read from the object.
 */
export async function beginObject(
  db: StoreDatabase,
  { at, ...object }: StoredObject & { readonly at: string },
): Promise<{ readonly object_id: string; readonly isStored: boolean }> {
  const alike = await selectAlike.all(db, object);
  const best = alike.find(({ state }) => state !== 'putting') ?? alike[0];
  if (best !== undefined && (await touch.run(db, { ...object, object_id: best.object_id, at })) > 0) {
    return { object_id: best.object_id, isStored: best.state !== 'putting' };
  }
  insertObject.send(db, { ...object, state: 'putting', changed_at: at });
  return { object_id: object.object_id, isStored: false };
}

/**
 * Makes a content be read from an object whose bytes were read back, and empties the content's row. False if the row no longer
 * has the content, if the content was replaced, or if the object is condemned: then the content stays where it is.
 */
export async function placeObject(db: StoreDatabase, placed: PlaceObject): Promise<boolean> {
  if ((await touch.run(db, placed)) === 0) return false;
  const empty = placed.position === resultPosition ? emptyResult : emptyArtifact;
  if ((await empty.run(db, { ...placed, nothing: new Uint8Array() })) === 0) return false;
  makeStored.send(db, placed);
  insertUse.send(db, placed);
  return true;
}

/** Notes that the contents of a job that is about to be removed may lie in objects; part of the transaction that removes it. */
export function loosenObjects(db: StoreDatabase, key: JobKey): void {
  loosen.send(db, key);
}

/** Notes that the result of a job is withdrawn; part of the transaction that withdraws it. */
export function releaseResult(db: StoreDatabase, key: JobKey): void {
  loosen.send(db, key);
  deleteUse.send(db, { ...key, position: resultPosition });
}

/**
 * Condemns objects that nobody uses, and objects that were begun before `begunBefore` and never put. Returns at most `limit`
 * condemned objects, which are to be removed.
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

/** Deletes the row of a condemned object that was removed. */
export async function forgetObject(db: StoreDatabase, key: ObjectKey): Promise<void> {
  await deleteCondemned.run(db, key);
}

/** Puts this object last among the condemned, because it could not be removed. */
export async function postponeObject(db: StoreDatabase, key: ObjectKey & { readonly at: string }): Promise<void> {
  await postponeCondemned.run(db, { ...key, changed_at: key.at });
}
