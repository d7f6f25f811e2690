/**
 * Evidence is written by strangers. What of it reaches a terminal is one line without control, direction or format
 * characters, which could hide a bad verdict or draw a good one.
 */

const CHARACTERS_MAX = 300;

/** Control, format and surrogate characters, and the separators that end a line. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text with every unsafe character spelled as `\u{…}`, cut off after 300 characters. */
export function printable(text: string): string {
  const characters = Array.from(text.slice(0, 2 * CHARACTERS_MAX + 2));
  const kept = characters.slice(0, CHARACTERS_MAX).join('');
  const safe = kept.replaceAll(UNSAFE, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
  return characters.length > CHARACTERS_MAX ? `${safe}…` : safe;
}
