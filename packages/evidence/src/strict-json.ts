/**
 * Strict JSON for documents that decide a verdict: an envelope, a statement, a receipt. The bytes must be UTF-8 without a byte
 * order mark, and `JsonScan` must accept the text. RFC 8259 § 4, RFC 7493 § 2.
 */
import { JsonProblem, type JsonRules, JsonScan } from './json-scan.ts';

/** The refusal of a text without the expected form. `reason` follows the text's name, as in "it is not a JSON object". */
export interface Refused {
  readonly kind: 'refused';
  readonly reason: string;
}

export function refused(reason: string): Refused {
  return { kind: 'refused', reason };
}

export type StrictJson = { readonly kind: 'value'; readonly value: unknown } | Refused;

/** Parses the bytes of one JSON text, nested at most `jsonDepthMax` deep. Large integers are read as `JSON.parse` reads them. */
export function parseStrictJson(bytes: Uint8Array, numbers: JsonRules['numbers'] = 'rounded'): StrictJson {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    new JsonScan(bytes, { tokensMax: Number.POSITIVE_INFINITY, numbers }).run(Number.POSITIVE_INFINITY);
    return { kind: 'value', value: JSON.parse(text) as unknown };
  } catch (error) {
    return refused(error instanceof JsonProblem ? `it ${error.message}` : 'it is not UTF-8');
  }
}

/** The JSON object in these bytes; null if the bytes are not the text of an object, or if there are no bytes. */
export function jsonObjectIn(bytes: Uint8Array | undefined): Record<string, unknown> | null {
  const json = bytes === undefined ? null : parseStrictJson(bytes);
  return json?.kind === 'value' && isJsonObject(json.value) ? json.value : null;
}

/** Whether a value is a JSON object, and neither null nor an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
