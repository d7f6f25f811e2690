/** Reads JSON that a person typed. */
import { parseStrictJson } from '@vouchbox/evidence';

/** The text's value, or why the text cannot be sent, in words such as "is not JSON at byte 3". No number is rounded. */
export function typedJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  const parsed = parseStrictJson(new TextEncoder().encode(text), 'exact');
  return parsed.kind === 'value' ? parsed : { problem: parsed.reason.replace(/^it /, '') };
}
