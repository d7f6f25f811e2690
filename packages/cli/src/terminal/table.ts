/** Rows of text for a person at a terminal. */
import { printable } from '@vouchbox/protocol/vocabulary';

/** Columns as wide as their widest cell, two spaces apart, one row a line. The last column may have any width. */
export function tableOf(texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map((cell) => printable(cell)));
  const count = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) =>
    Math.max(...rows.map((row) => (at < row.length - 1 ? (row[at]?.length ?? 0) : 0))),
  );
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
