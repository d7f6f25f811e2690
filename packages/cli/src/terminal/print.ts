/** What a command prints: its result on stdout, as text or as JSON, and remarks beside it on stderr. */
import { printable, printableJson } from '@vouchbox/protocol/vocabulary';

/** An option of every command: whether to print one JSON document instead of text for a person. */
export interface JsonOption {
  readonly json?: true | undefined;
}

/** Prints a result on stdout: the text, or with `--json` the value. */
export function printResult({ json }: JsonOption, text: string, value: unknown): void {
  process.stdout.write(json ? `${printableJson(value, 2)}\n` : text);
}

/** Says something beside a result, in one line on stderr. */
export function note(line: string): void {
  process.stderr.write(`vouchbox: ${printable(line, 4096)}\n`);
}
