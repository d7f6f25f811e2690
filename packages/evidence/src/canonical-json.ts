/**
 * The one spelling of a JSON value for everything that is digested or signed: RFC 8785 (JCS). Two parties with the same value get
 * the same bytes.
 */
import canonicalize from 'canonicalize';

/**
 * The RFC 8785 text of a JSON value. Members that are `undefined` are left out, as in JSON.
 *
 * @throws Error for a value without a canonical form: lone surrogates, NaN, infinities, BigInt, cycles, and `undefined`
 * itself.
 */
export function canonicalJson(value: unknown): string {
  if (standsInOrder(value, quickDepthMax)) return JSON.stringify(value);
  const text = canonicalize(value);
  if (text === undefined) throw new Error('a value without a JSON form cannot be canonicalized');
  return text;
}

/** The depth to which values are examined. Deeper values, and so also cycles, take the general path. */
const quickDepthMax = 32;

/**
 * Whether `JSON.stringify` writes this value canonically. RFC 8785 § 3.2 differs from it only in member order. Values parsed
 * from canonical text pass, except deep ones and some with a number or `toJSON` as a name. The check costs a tenth of sorting.
 */
function standsInOrder(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed();
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
      return true;
    case 'object':
      return value === null || (depth > 0 && !('toJSON' in value) && membersStandInOrder(value, depth - 1));
    case 'bigint':
    case 'function':
    case 'symbol':
    case 'undefined':
      return false;
  }
}

function membersStandInOrder(value: object, depth: number): boolean {
  if (Array.isArray(value)) return value.every((element) => standsInOrder(element, depth));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  let previous: string | null = null;
  for (const name of Object.keys(value)) {
    if (previous !== null && name <= previous) return false;
    if (!name.isWellFormed() || !standsInOrder((value as Record<string, unknown>)[name], depth)) return false;
    previous = name;
  }
  return true;
}
