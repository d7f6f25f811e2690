/** Reads every table of a SQLite store, in one state of the store. Nothing is changed. */
import { openDatabase } from '../sqlite/database.ts';
import { type CopiedRow, type CopiedTable, type NameOfTable, namesByTable, quoted } from './copied-rows.ts';

/** The store's tables and columns, by name. Tables that only SQLite stores have, such as the schema history, are left out. */
const COLUMNS = `
  select t.name as table_name, c.name as name from pragma_table_list as t, pragma_table_info(t.name) as c
  where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' and t.name not like 'schema\\_history%' escape '\\'
  order by t.name, c.name`;

export class SqliteSource implements Disposable {
  readonly #database;

  /** @throws the errors of SQLite */
  constructor(path: string) {
    this.#database = openDatabase(path, { readOnly: true });
    this.#database.exec('begin');
  }

  /** The columns of each table. Tables and columns are in the order of their names. */
  columns(): Map<string, string[]> {
    return namesByTable(this.#database.prepare(COLUMNS).all() as unknown as NameOfTable[]);
  }

  /** How many rows a table has. */
  count(table: string): number {
    return Number(this.#database.prepare(`select count(*) as rows from "${table}"`).get()?.['rows']);
  }

  /** The rows in the order of their key, one at a time. */
  *rows({ name, columns, key }: CopiedTable): Generator<CopiedRow> {
    const statement = this.#database.prepare(
      `select ${quoted(columns)} from ${quoted([name])} order by ${quoted(key)}`,
    );
    statement.setReturnArrays(true);
    for (const row of statement.iterate()) yield row as unknown as CopiedRow;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
