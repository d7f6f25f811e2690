/** Schemas of other servers, reduced to the keywords that a service accepts. */
import { canonicalJson } from '@vouchbox/evidence';
import { schemaProblem, toolSchemaBytesMax } from '@vouchbox/protocol';

type Schema = Record<string, unknown>;

const charsMax = 4 * toolSchemaBytesMax;
const removalsMax = 256;

/** If a schema has one of these keywords, none of its keywords may be removed: the rest could refuse what the schema accepts. */
const TIGHTENED = /"(?:not|if|oneOf|contains|patternProperties)":/;

/**
 * The schema without the keywords that a service refuses. It accepts every value that the whole schema accepts; the server that
 * wrote the schema checks the rest. Undefined if there is no such schema.
 */
export function takenSchema(schema: unknown): Schema | undefined {
  try {
    const text = JSON.stringify(schema);
    if (text.length > charsMax) return undefined;
    const taken = JSON.parse(text) as Schema;
    for (let removed = 0; removed < removalsMax; removed++) {
      const wrong = schemaProblem(taken);
      if (wrong === null) return Buffer.byteLength(canonicalJson(taken)) > toolSchemaBytesMax ? undefined : taken;
      if (TIGHTENED.test(text) || !isRemoved(taken, wrong.pointer)) return undefined;
    }
  } catch {
    // The schema nests too deeply for recursive code, or has text without a UTF-8 form.
  }
  return undefined;
}

/** Keywords whose value means something else once a part of it is removed. */
const WHOLE = /\/(?:const|enum|default|examples)\//;
const BY_NAME = /\/(?:properties|dependentSchemas|\$defs)\/[^/]*$/;

/** Removes the member that a JSON pointer (RFC 6901) names; false if it names an element of a list, or the whole schema. */
function isRemoved(schema: Schema, pointer: string): boolean {
  const names = pointer.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = names.pop() as string;
  let within: unknown = schema;
  for (const name of names.slice(1)) within = (within as Schema)[name];
  if (names.length === 0 || Array.isArray(within) || WHOLE.test(pointer)) return false;
  // A property that is no longer listed may be refused, so its schema becomes `true`.
  if (BY_NAME.test(pointer)) (within as Schema)[last] = true;
  else delete (within as Schema)[last];
  return true;
}
