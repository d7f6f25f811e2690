/** The rows of a table in a form that both kinds of store share, and a digest over them. */
import { createHash, type Hash } from 'node:crypto';

export interface CopiedTable {
  readonly name: string;
  /** The names of the columns in alphabetical order, which is the same on both sides. */
  readonly columns: readonly string[];
  /** The columns of the primary key. Rows are read in the order of this key. Both sides compare it by bytes. */
  readonly key: readonly string[];
}

/** The values of one row, in the order of the columns. */
export type CopiedRow = readonly (string | number | Uint8Array | null)[];

/** The rows of a table on one side. */
export interface TableSum {
  readonly rows: number;
  /** Lower-case hex of a SHA-256 over every value of every row. */
  readonly sha256: string;
}

/** Quotes names that came from the databases themselves. */
export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** A table, with the name of one of its columns, or of a table to which it refers. */
export interface NameOfTable {
  readonly table_name: string;
  readonly name: string;
}

/** The names that belong to each table, in the order of the rows. */
export function namesByTable(rows: readonly NameOfTable[]): Map<string, string[]> {
  const tables = Map.groupBy(rows, ({ table_name }) => table_name);
  return new Map(Array.from(tables, ([table, named]) => [table, named.map(({ name }) => name)]));
}

/** The approximate size of a row in bytes, for bounds only: text is measured in characters. */
export function sizeOf(row: CopiedRow): number {
  return row.reduce<number>((sum, value) => sum + (value === null || typeof value === 'number' ? 8 : value.length), 0);
}

/** Digests rows one by one. Each value follows its type and length, so no two different tables have the same digest. */
export class RowSum {
  readonly #hash: Hash = createHash('sha256');
  #rows = 0;

  add(row: CopiedRow): void {
    this.#rows++;
    for (const value of row) {
      if (value === null) this.#hash.update('null ');
      else if (typeof value === 'number') this.#hash.update(`number ${value} `);
      else if (typeof value === 'string') this.#hash.update(`text ${Buffer.byteLength(value)} `).update(value);
      else this.#hash.update(`bytes ${value.length} `).update(value);
    }
  }

  sum(): TableSum {
    return { rows: this.#rows, sha256: this.#hash.copy().digest('hex') };
  }
}
