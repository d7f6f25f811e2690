/**
 * Makes untrusted text safe for a terminal: output from programs, answers from services, contents of evidence. Control, direction
 * and format characters could move the cursor, hide a bad verdict or fake a good one, so they are escaped.
 */

/** Control, format and surrogate characters, and the line and paragraph separators. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** One line: every unsafe character becomes `\u{…}`, and text beyond the bound is cut. */
export function printable(text: string, charactersMax = 300): string {
  const characters = Array.from(text.slice(0, 2 * charactersMax + 2));
  const safe = characters.slice(0, charactersMax).join('').replaceAll(UNSAFE, spelled);
  return characters.length > charactersMax ? `${safe}…` : safe;
}

/** Many lines of any length: line feeds and tabs stay, and every other unsafe character becomes `\u{…}`. */
export function printableText(text: string): string {
  return text.replaceAll(UNSAFE, (character) =>
    character === '\n' || character === '\t' ? character : spelled(character),
  );
}

/** Writes a value as JSON for programs and terminals alike: an unsafe character becomes `\uXXXX`, as JSON spells it. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(UNSAFE, (character) =>
    character === '\n' ? character : character.split('').map(escapedUnit).join(''),
  );
}

function spelled(character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}

function escapedUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
