/** Reduces schemas from other servers to the keywords that a service accepts. */
import { canonicalJson } from '@vouchbox/evidence';
import { schemaProblem, toolSchemaBytesMax } from '@vouchbox/protocol';

type Schema = Record<string, unknown>;

const charsMax = 4 * toolSchemaBytesMax;
const removalsMax = 256;

/** A schema with one of these keywords is not reduced: the reduced schema could refuse values that the whole one accepts. */
const TIGHTENED = /"(?:not|if|oneOf|contains|patternProperties)":/;

/**
 * The schema without the keywords that a service refuses. The result accepts every value that the whole schema accepts, and the
 * server that wrote the schema checks the removed keywords. Undefined if there is no such schema.
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
    // The schema is nested too deeply for recursive code, or has text without a UTF-8 form.
  }
  return undefined;
}

/** Keywords whose value would mean something else if a part of the value were removed. */
const WHOLE = /\/(?:const|enum|default|examples)\//;
const BY_NAME = /\/(?:properties|dependentSchemas|\$defs)\/[^/]*$/;

/** Removes the member that a JSON pointer (RFC 6901) names. False if the pointer names a list's element or the whole schema. */
function isRemoved(schema: Schema, pointer: string): boolean {
  const names = pointer.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = names.pop() as string;
  let within: unknown = schema;
  for (const name of names.slice(1)) within = (within as Schema)[name];
  if (names.length === 0 || Array.isArray(within) || WHOLE.test(pointer)) return false;
  // A property that the schema no longer lists could be refused, so it stays listed, with the schema `true`.
  if (BY_NAME.test(pointer)) (within as Schema)[last] = true;
  else delete (within as Schema)[last];
  return true;
}
