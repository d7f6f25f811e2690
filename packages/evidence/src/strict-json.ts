/**
 * Strict JSON for what decides something: an envelope, a statement, a receipt. It refuses what two readers could
 * understand differently: a member named twice, bytes that are not UTF-8, a byte order mark, a lone surrogate, a number
 * that no double holds. RFC 8259 § 4, RFC 7493 § 2.
 */
import { jsonDepthMax } from '@svc/protocol/vocabulary';

export type StrictJson =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly reason: string };

/** Parses the bytes of one JSON text, nested at most `jsonDepthMax` deep. */
export function parseStrictJson(bytes: Uint8Array): StrictJson {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const reason = problemOf(text);
    return reason === null ? { kind: 'value', value: JSON.parse(text) as unknown } : { kind: 'refused', reason };
  } catch (error) {
    return { kind: 'refused', reason: error instanceof SyntaxError ? 'it is not JSON' : 'it is not UTF-8' };
  }
}

/** Whether a value is a JSON object, and neither null nor an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names seen so far in an open object; null for an open array. */
type Frame = Set<string> | null;

/**
 * Checks what `JSON.parse` would accept. It looks at strings, brackets and numbers only: `JSON.parse` then refuses
 * whatever else breaks the grammar. A malformed string throws the SyntaxError of `JSON.parse` from here.
 */
function problemOf(text: string): string | null {
  const open: Frame[] = [];
  let nameIsNext = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (character === '"') {
      const end = closingQuote(text, at);
      const problem = stringProblem(text.slice(at, end + 1), nameIsNext ? (open.at(-1) ?? null) : null);
      if (problem !== null) return problem;
      nameIsNext = false;
      at = end;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : null);
      if (open.length > jsonDepthMax) return `it is nested deeper than ${jsonDepthMax}`;
      nameIsNext = character === '{';
    } else if (character === '}' || character === ']') {
      open.pop();
      nameIsNext = false;
    } else if (character === ',') {
      nameIsNext = open.at(-1) instanceof Set;
    } else if (character === '-' || (character >= '0' && character <= '9')) {
      const end = numberEnd(text, at);
      if (!Number.isFinite(Number(text.slice(at, end)))) return 'it holds a number that is out of range';
      at = end - 1;
    }
  }
  return null;
}

/** `names` are the names of the open object if this string is a member's name; null if it is a value. */
function stringProblem(literal: string, names: Frame): string | null {
  if (names === null && !literal.includes('\\')) return null;
  const value = JSON.parse(literal) as string;
  if (!value.isWellFormed()) return 'it holds a lone surrogate';
  if (names?.has(value)) return `it names a member twice: ${JSON.stringify(value).slice(0, 80)}`;
  names?.add(value);
  return null;
}

/** Index of the quote that ends the string opened at `start`, or of the end of the text. */
function closingQuote(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}

function numberEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && '0123456789+-.eE'.includes(text[end] as string)) end++;
  return end;
}
