/** Reads every table of a SQLite store, in one state of the store. Nothing is changed. */
import { openDatabase } from '../sqlite/database.ts';
import type { CopiedRow, CopiedTable } from './copied-rows.ts';

/** Tables with the store's columns, by name. Tables that only this kind of store has, such as its migrations, are left out. */
const COLUMNS = `
  select t.name as table_name, c.name as column_name from pragma_table_list as t, pragma_table_info(t.name) as c
  where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' and t.name not like 'schema\\_history%' escape '\\'
  order by t.name, c.name`;

export class SqliteSource implements Disposable {
  readonly #database;

  /** @throws the errors of SQLite */
  constructor(path: string) {
    this.#database = openDatabase(path, { readOnly: true });
    this.#database.exec('begin');
  }

  /** The columns of each table, both in the order of their names. */
  columns(): Map<string, string[]> {
    const tables = new Map<string, string[]>();
    for (const { table_name, column_name } of this.#database.prepare(COLUMNS).all()) {
      const columns = tables.get(String(table_name)) ?? [];
      tables.set(String(table_name), [...columns, String(column_name)]);
    }
    return tables;
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

/** Quotes names, which came from the database itself. */
function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
