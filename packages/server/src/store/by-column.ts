/**
 * Queries that find rows by the values of columns. Their parameters have the columns' names. A query with other parameters is
 * written with `prepared`.
 */
import { type Insertable, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import { type PreparedQuery, prepared } from './prepared.ts';
import type { StoreDatabase, Tables } from './schema.ts';

/** The columns that identify a job, a grading, an upload and an object. */
export const JOB = ['tenant', 'job_id'] as const;
export const GRADING = ['tenant', 'grading_id'] as const;
export const UPLOAD = ['tenant', 'blob_id'] as const;
export const OBJECT = ['tenant', 'object_id'] as const;

type Table = keyof Tables;
type Column<Of extends Table> = keyof Tables[Of] & string;
type Values<Of extends Table, Names extends Column<Of>> = Pick<
  Selectable<Tables[Of]>,
  Names & keyof Selectable<Tables[Of]>
>;
type Constants<Of extends Table> = Partial<Selectable<Tables[Of]>>;
/** Values that are not parameters: constants, or expressions such as `queued - 1`. */
type Fixed<Of extends Table> = {
  readonly [Name in keyof Constants<Of>]?: Constants<Of>[Name] | RawBuilder<Selectable<Tables[Of]>[Name]>;
};
type New<Of extends Table> = Insertable<Tables[Of]>;
/** Columns that a new row must name, because they have no default. */
type Needed<Of extends Table> = {
  [Name in keyof New<Of>]-?: object extends Pick<New<Of>, Name> ? never : Name;
}[keyof New<Of>];

interface Condition<Of extends Table> {
  /** Constants that other columns must equal. They are literals in the query, so that a partial index can serve it. */
  readonly where?: Constants<Of>;
  /** Another condition. */
  readonly also?: RawBuilder<SqlBool>;
}

interface Selection<Of extends Table> extends Condition<Of> {
  readonly orderBy?: Column<Of> | readonly Column<Of>[];
}

/** Selects columns of the rows with this key. */
export function selectBy<Of extends Table, Key extends Column<Of>, Found extends Column<Of>>(
  table: Of,
  key: readonly Key[],
  columns: readonly Found[],
  { orderBy = [], ...condition }: Selection<Of> = {},
): PreparedQuery<Values<Of, Key>, Values<Of, Found>> {
  const by = [orderBy].flat();
  const order = by.length === 0 ? sql`` : sql` order by ${names(by)}`;
  return query(
    (given) => sql`select ${names(columns)} from ${sql.table(table)}${keyed(key, given, condition)}${order}`,
  );
}

/** Counts the rows with this key. */
export function countBy<Of extends Table, Key extends Column<Of>>(
  table: Of,
  key: readonly Key[],
  condition: Condition<Of> = {},
): (db: StoreDatabase, of: Values<Of, Key>) => Promise<number> {
  const count = query<Values<Of, Key>, { rows: number }>(
    (given) => sql`select count(*) as rows from ${sql.table(table)}${keyed(key, given, condition)}`,
  );
  return async (db, of) => (await count.first(db, of))?.rows ?? 0;
}

/** In the rows with this key, gives new values to some columns, and fixed values to others. */
export function updateBy<Of extends Table, Key extends Column<Of>, Set extends Column<Of>>(
  table: Of,
  key: readonly Key[],
  columns: readonly Set[],
  { to = {}, ...condition }: Condition<Of> & { readonly to?: Fixed<Of> } = {},
): PreparedQuery<Values<Of, Key | Set>, never> {
  return query((given) => {
    const set = [...assigned(columns, given), ...Object.entries(to).map(([name, value]) => equal(name, value))];
    return sql`update ${sql.table(table)} set ${sql.join(set)}${keyed(key, given, condition)}`;
  });
}

/** Deletes the rows with this key. */
export function deleteBy<Of extends Table, Key extends Column<Of>>(
  table: Of,
  key: readonly Key[],
  where: Constants<Of> = {},
): PreparedQuery<Values<Of, Key>, never> {
  return query((given) => sql`delete from ${sql.table(table)}${keyed(key, given, { where })}`);
}

/** How many expired rows are deleted with each new row: more than one, so that their number falls, but few, for speed. */
const expiredMax = 16;

/** Deletes some of the rows that have expired by `now`. */
export function deleteExpired<Of extends Table>(
  table: Of,
  key: Column<Of>,
): PreparedQuery<{ readonly now: string }, never> {
  const rows = sql.table(table);
  const name = sql.ref(key);
  const expired = (now: unknown) =>
    sql`select ${name} from ${rows} where expires_at <= ${now} order by expires_at limit ${sql.lit(expiredMax)}`;
  return query(({ now }) => sql`delete from ${rows} where ${name} in (${expired(now)})`);
}

/** Inserts rows with these columns, and with fixed values in other columns. */
export function insertOf<Of extends Table, Names extends Column<Of>, Other extends Fixed<Of> = object>(
  table: Of,
  columns: readonly Names[] & ([Exclude<Needed<Of>, Names | keyof Other>] extends [never] ? unknown : never),
  fixed?: Other,
): PreparedQuery<Values<Of, Names>, never> {
  return query((given) => inserted(table, columns, { given, fixed }));
}

/** Inserts rows as `insertOf` does, unless there is already a row with their key. */
export function insertNew<Of extends Table, Names extends Column<Of>, Other extends Fixed<Of> = object>(
  table: Of,
  columns: readonly Names[] & ([Exclude<Needed<Of>, Names | keyof Other>] extends [never] ? unknown : never),
  fixed?: Other,
): PreparedQuery<Values<Of, Names>, never> {
  return query((given) => sql`${inserted(table, columns, { given, fixed })} on conflict do nothing`);
}

/** Whether a row of a table has this key. */
export function hasKey<Of extends Table, Key extends Column<Of>>(
  table: Of,
  key: readonly Key[],
  of: Values<Of, Key>,
): RawBuilder<SqlBool> {
  const equals = key.map((name) => equal(`${table}.${name}`, (of as Given)[name]));
  return sql<SqlBool>`${sql.join(equals, sql` and `)}`;
}

/** Whether rows of two tables have the same key. */
export function same<Of extends Table, Other extends Table>(
  key: readonly (Column<Of> & Column<Other>)[],
  table: Of,
  other: Other,
): RawBuilder<SqlBool> {
  const equals = key.map((name) => sql`${sql.ref(`${table}.${name}`)} = ${sql.ref(`${other}.${name}`)}`);
  return sql<SqlBool>`${sql.join(equals, sql` and `)}`;
}

/** Whether another table has a row that has the same key and meets a condition. */
export function hasIn<Of extends Table, Other extends Table>(
  table: Of,
  key: readonly (Column<Of> & Column<Other>)[],
  { of, where = sql`true` }: { readonly of: Other; readonly where?: RawBuilder<unknown> },
): RawBuilder<SqlBool> {
  return sql<SqlBool>`exists (select 1 from ${sql.table(table)} where ${same(key, table, of)} and ${where})`;
}

type Given = Readonly<Record<string, unknown>>;

function query<Parameters extends object, Row>(text: (given: Given) => RawBuilder<unknown>) {
  return prepared((db: StoreDatabase, parameters: Parameters) => ({
    compile: () => (text(parameters as Given) as RawBuilder<Row>).compile(db),
  }));
}

function inserted(
  table: string,
  columns: readonly string[],
  { given, fixed = {} }: { readonly given: Given; readonly fixed?: object | undefined },
): RawBuilder<unknown> {
  const all = [...columns, ...Object.keys(fixed)];
  const values = sql.join([...columns.map((name) => given[name]), ...Object.values(fixed as Given)]);
  return sql`insert into ${sql.table(table)} (${names(all)}) values (${values})`;
}

/** The condition of a query, with the word `where`; empty for a query of the whole table. */
function keyed<Of extends Table>(key: readonly string[], given: Given, { where = {}, also }: Condition<Of>) {
  const constants = Object.entries(where).map(([name, value]) =>
    value === null ? sql`${sql.ref(name)} is null` : equal(name, sql.lit(value)),
  );
  const all = [...assigned(key, given), ...constants, ...(also === undefined ? [] : [also])];
  return all.length === 0 ? sql`` : sql` where ${sql.join(all, sql` and `)}`;
}

function assigned(columns: readonly string[], given: Given): RawBuilder<unknown>[] {
  return columns.map((name) => equal(name, given[name]));
}

function equal(name: string, value: unknown): RawBuilder<unknown> {
  return sql`${sql.ref(name)} = ${value}`;
}

function names(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(columns.map((name) => sql.ref(name)));
}
