/** The line by which a person recognises a program. Spec § Other bodies 3a. */
import { printable } from './printable.ts';

/** How many characters the line may have, and how many characters of the program are searched for the line. */
const charactersMax = 120;
const soughtMax = 4096;

/** The first line with content: neither the interpreter's line nor a line of signs alone, such as the opening of a comment. */
const LINE = /^(?!#!).*[\p{L}\p{N}].*$/mu;

/** The printable part of the first meaningful line, cut at 120 characters; null if there is none. */
export function firstLineOf(code: string): string | null {
  const line = LINE.exec(code.slice(0, soughtMax))?.[0].trim().replaceAll('\t', ' ');
  return line === undefined ? null : printable(line, charactersMax);
}
