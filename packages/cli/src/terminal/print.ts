/** What a command prints: its result on stdout, as text, a table or JSON, and remarks on stderr. */
import { printable, printableJson } from '@vouchbox/protocol/vocabulary';

/** An option that every command except `completion` has: whether to print one JSON document instead of text for a person. */
export interface JsonOption {
  readonly json?: true | undefined;
}

/** Prints a result on stdout: the value as JSON with `--json`, otherwise the text. */
export function printResult({ json }: JsonOption, text: string, value: unknown): void {
  process.stdout.write(json ? `${printableJson(value, 2)}\n` : text);
}

/** Prints a remark about the result as one line on stderr. */
export function note(line: string): void {
  process.stderr.write(`vouchbox: ${printable(line, 4096)}\n`);
}

/** A table with one line per row. Columns are two spaces apart and as wide as their widest cell; the last one is not padded. */
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
