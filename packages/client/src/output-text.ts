/** Output as the program wrote it. */
import type { OutputRecord } from './contract-types.ts';

/** A recorded line with its newline, or a piece of a line. */
export function outputText({ text, partial }: OutputRecord): string {
  return partial ? text : `${text}\n`;
}
