/** Writes tables into an empty store on PostgreSQL, all in one transaction, and reads them back before the commit. */
import type { Session } from '../postgres/connection.ts';
import { WritingSession } from '../postgres/writing-session.ts';
import { StoreError } from '../store-error.ts';
import {
  type CopiedRow,
  type CopiedTable,
  type NameOfTable,
  namesByTable,
  quoted,
  RowSum,
  sizeOf,
  type TableSum,
} from './copied-rows.ts';

/** The most rows and bytes of one batch. After each batch, the copy waits for the database. */
const batchRowsMax = 1000;
const batchBytesMax = 8 * 1024 * 1024;

const COLUMNS = `
  select table_name::text as table_name, column_name::text as name from information_schema.columns
  where table_schema = current_schema() order by table_name collate "C", column_name collate "C"`;

const KEYS = `
  select r.relname::text as table_name, a.attname::text as name from pg_index as i
  join pg_class as r on r.oid = i.indrelid
  join pg_attribute as a on a.attrelid = r.oid and a.attnum = any (i.indkey)
  where i.indisprimary and r.relnamespace = current_schema()::regnamespace
  order by r.relname, array_position(i.indkey::int2[], a.attnum)`;

const REFERENCES = `
  select distinct conrelid::regclass::text as table_name, confrelid::regclass::text as name
  from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace`;

export class PostgresTarget implements AsyncDisposable {
  readonly #writing: WritingSession;
  readonly #session: Session;

  private constructor(writing: WritingSession, session: Session) {
    this.#writing = writing;
    this.#session = session;
  }

  /** Takes hold of the store and makes its tables. @throws StoreError, for example if a service is using the store */
  static async open(url: string): Promise<PostgresTarget> {
    const writing = await WritingSession.open(url, {});
    return new PostgresTarget(writing, await writing.current());
  }

  /**
   * The tables to copy, each before those that refer to it.
   *
   * @throws StoreError if the target lacks one of the source's tables, or if a table's columns differ
   */
  async tables(source: ReadonlyMap<string, readonly string[]>): Promise<CopiedTable[]> {
    const [columns, keys, references] = [
      await this.#names(COLUMNS),
      await this.#names(KEYS),
      await this.#names(REFERENCES),
    ];
    const tables = Array.from(source, ([name, names]) => {
      if (columns.get(name)?.join() !== names.join())
        throw new StoreError('internal', `the table ${name} has other columns in the two kinds of store`);
      return { name, columns: names, key: keys.get(name) ?? names };
    });
    const depth = (name: string): number =>
      Math.max(0, ...(references.get(name) ?? []).map((other) => 1 + depth(other)));
    return tables.sort((one, other) => depth(one.name) - depth(other.name));
  }

  /** @throws StoreError if one of the tables has a row */
  async requireEmpty(tables: readonly CopiedTable[]): Promise<void> {
    for (const { name } of tables) {
      const rows = await this.#session.lists({ sql: `select 1 from "${name}" limit 1`, parameters: [] });
      if (rows.length > 0) throw new StoreError('unopenable', `the target is not empty: its table ${name} has rows`);
    }
  }

  begin(): void {
    this.#session.begin('isolation level read committed');
  }

  /** Sends the rows, and waits after each batch. `onRows` gets the number of rows in the batch. */
  async write(table: CopiedTable, rows: Iterable<CopiedRow>, onRows: (count: number) => void): Promise<TableSum> {
    const places = table.columns.map((_, index) => `$${index + 1}`).join(', ');
    const sql = `insert into "${table.name}" (${quoted(table.columns)}) values (${places})`;
    const sum = new RowSum();
    let waiting = { rows: 0, bytes: 0 };
    const settle = async () => {
      await this.#session.lists({ sql: 'select 1', parameters: [] });
      onRows(waiting.rows);
      waiting = { rows: 0, bytes: 0 };
    };
    for (const row of rows) {
      sum.add(row);
      this.#session.send({ sql, parameters: row });
      waiting = { rows: waiting.rows + 1, bytes: waiting.bytes + sizeOf(row) };
      if (waiting.rows >= batchRowsMax || waiting.bytes >= batchBytesMax) await settle();
    }
    await settle();
    return sum.sum();
  }

  /** Reads a table back as it will be stored. `rowBytes` is the size of the largest row. */
  async sum({ name, columns, key }: CopiedTable, rowBytes: number): Promise<TableSum> {
    const sum = new RowSum();
    const select = `select ${quoted(columns)} from "${name}" order by ${quoted(key)}`;
    await this.#session.lists({ sql: `declare copied no scroll cursor for ${select}`, parameters: [] });
    const count = Math.max(1, Math.min(batchRowsMax, Math.floor(batchBytesMax / Math.max(1, rowBytes))));
    for (;;) {
      const rows = await this.#session.lists({ sql: `fetch ${count} from copied`, parameters: [] });
      for (const row of rows) sum.add(row as CopiedRow);
      if (rows.length < count) break;
    }
    await this.#session.lists({ sql: 'close copied', parameters: [] });
    return sum.sum();
  }

  /** Closes the log of the copy, which would otherwise fork the original's log: see `closeLog`. */
  async closeLog(): Promise<void> {
    await this.#session.execute({ sql: 'update log_state set size = 0', parameters: [] });
  }

  async commit(): Promise<void> {
    await this.#session.commit();
  }

  /** Ends the connection. The database undoes uncommitted changes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing[Symbol.asyncDispose]();
  }

  async #names(sql: string): Promise<Map<string, string[]>> {
    return namesByTable((await this.#session.execute<NameOfTable>({ sql, parameters: [] })).rows);
  }
}
