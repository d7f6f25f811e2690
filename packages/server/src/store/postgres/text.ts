/**
 * Text in a form that PostgreSQL can hold. PostgreSQL's text columns hold every character but U+0000; JavaScript and SQLite allow
 * that one, too. So U+0000 is stored as U+0001 U+0001, and U+0001 as U+0001 U+0002. Order and equality stay the same. JSON does
 * not change, because RFC 8259 § 7 allows neither character in a JSON text.
 */

const ESCAPE = '\u0001';
const ZERO = `${ESCAPE}\u0001`;
const ESCAPED = `${ESCAPE}\u0002`;

/** The text to store. */
export function toStoredText(text: string): string {
  if (!text.includes('\u0000') && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, ESCAPED).replaceAll('\u0000', ZERO);
}

/** The original of a stored text. */
export function fromStoredText(stored: string): string {
  if (!stored.includes(ESCAPE)) return stored;
  return stored.replaceAll(ZERO, '\u0000').replaceAll(ESCAPED, ESCAPE);
}
