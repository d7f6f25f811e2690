/** The line that lets a person recognise a program. Spec § Other bodies 3a. */
import { printable } from './printable.ts';

/** How long the line may be, and how much of the program is searched for the line, in characters. */
const charactersMax = 120;
const soughtMax = 4096;

/** The first line with a letter or a digit, except the interpreter's. A line that only opens a comment is passed over. */
const LINE = /^(?!#!).*[\p{L}\p{N}].*$/mu;

/** The printable part of the first meaningful line, cut at 120 characters; null if there is none. */
export function firstLineOf(code: string): string | null {
  const line = LINE.exec(code.slice(0, soughtMax))?.[0].trim().replaceAll('\t', ' ');
  return line === undefined ? null : printable(line, charactersMax);
}
