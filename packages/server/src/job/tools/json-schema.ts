/**
 * Whether a JSON text fits a schema. Only this module uses the library, and the library generates no code from a schema. The
 * module runs on its own thread with a deadline, because a hostile schema and value may take any amount of time or stack.
 */
import { Validator } from '@cfworker/json-schema';
import { printable } from '@vouchbox/protocol/vocabulary';

/** How many prepared schemas are kept. */
const keptMax = 256;
const kept = new Map<string, Validator>();

/** What is wrong with a value, in words that can follow its name; null if the value fits. Value and schema are JSON texts. */
export function misfitOfJson(schema: string, value: string): string | null {
  const { valid, errors } = validatorOf(schema).validate(JSON.parse(value));
  if (valid) return null;
  const innermost = errors.at(-1);
  const place = innermost?.instanceLocation.slice(1) ?? '';
  return printable(`${place === '' ? '' : `at ${place}: `}${innermost?.error ?? 'does not fit'}`);
}

function validatorOf(schema: string): Validator {
  const known = kept.get(schema);
  if (known !== undefined) return known;
  const made = new Validator(JSON.parse(schema) as object, '2020-12');
  for (const [oldest] of kept) {
    if (kept.size < keptMax) break;
    kept.delete(oldest);
  }
  kept.set(schema, made);
  return made;
}
