/**
 * Which JSON Schemas a tool may have. Only the keywords listed here are allowed, so that no library decides how long a check
 * takes or what a schema means. JSON Schema, draft 2020-12.
 */
import { toolSchemaDepthMax } from './limits.ts';
import { printable } from './printable.ts';

const quotedCharsMax = 60;

interface SchemaProblem {
  /** A JSON pointer (RFC 6901) to the wrong keyword or value. */
  readonly pointer: string;
  readonly problem: string;
}

type Form = (value: unknown, pointer: string, walk: Walk) => void;

/** What the check has found in one schema. */
interface Walk {
  /** `places`: pointers of all schemas inside the checked one. `references`: the pointer that each reference names. */
  readonly places: Set<string>;
  readonly references: Map<string, string>;
}

class Odd extends Error {
  readonly pointer: string;

  constructor(pointer: string, problem: string) {
    super(problem);
    this.pointer = pointer;
  }
}

/** The first fault in a schema; null if the schema may be used. */
export function schemaProblem(schema: unknown): SchemaProblem | null {
  const walk: Walk = { places: new Set(), references: new Map() };
  try {
    checkDepth(schema, '', toolSchemaDepthMax);
    checkSchema(schema, '', walk);
    for (const [pointer, target] of walk.references)
      if (!walk.places.has(target)) throw new Odd(pointer, `points to no schema within this one: ${quoted(target)}`);
    return null;
  } catch (error) {
    if (error instanceof Odd) return { pointer: error.pointer, problem: error.message };
    throw error;
  }
}

function checkDepth(value: unknown, pointer: string, left: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (left === 0) throw new Odd(pointer, `is deeper than ${toolSchemaDepthMax}`);
  for (const [name, member] of Object.entries(value)) checkDepth(member, `${pointer}/${escaped(name)}`, left - 1);
}

function checkSchema(schema: unknown, pointer: string, walk: Walk): void {
  walk.places.add(pointer);
  if (typeof schema === 'boolean') return;
  if (!isObject(schema)) throw new Odd(pointer, 'is no schema');
  for (const [keyword, value] of Object.entries(schema)) {
    const at = `${pointer}/${escaped(keyword)}`;
    const form = FORMS.get(keyword);
    if (form === undefined) throw new Odd(at, 'is not a keyword that schemas of tools may have');
    form(value, at, walk);
  }
}

/** A form for values that `holds` accepts. Schemas inside the value are not checked. */
function is(what: string, holds: (value: unknown) => boolean): Form {
  return (value, pointer) => {
    if (!holds(value)) throw new Odd(pointer, `must be ${what}`);
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string');

const schemas: Form = (value, pointer, walk) => {
  if (!Array.isArray(value) || value.length === 0) throw new Odd(pointer, 'must be schemas');
  for (const [index, schema] of value.entries()) checkSchema(schema, `${pointer}/${index}`, walk);
};

const schemasByName: Form = (value, pointer, walk) => {
  if (!isObject(value)) throw new Odd(pointer, 'must be schemas by name');
  for (const [name, schema] of Object.entries(value)) checkSchema(schema, `${pointer}/${escaped(name)}`, walk);
};

const reference: Form = (value, pointer, walk) => {
  if (typeof value !== 'string' || !/^#(\/|$)/.test(value)) throw new Odd(pointer, 'must begin with "#/", or be "#"');
  // A pointer in a fragment may be percent-encoded. Only a pointer that needs no encoding is taken, so that its meaning is clear.
  if (!/^[\x21-\x24\x26-\x7e]*$/.test(value)) throw new Odd(pointer, 'must be visible ASCII without "%"');
  walk.references.set(pointer, value.slice(1));
};

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string'];
const isType = (value: unknown) => TYPES.includes(value as string);
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

const anything: Form = () => {};
const text = is('a string', (value) => typeof value === 'string');
const flag = is('true or false', (value) => typeof value === 'boolean');
const number = is('a number', (value) => typeof value === 'number');
const count = is('a whole number of at least 0', (value) => Number.isSafeInteger(value) && (value as number) >= 0);

function each(keywords: string, form: Form): [string, Form][] {
  return keywords.split(' ').map((keyword) => [keyword, form]);
}

/** Every keyword, and the form of its value. */
const FORMS: ReadonlyMap<string, Form> = new Map([
  ...each('items contains additionalProperties propertyNames not if then else', checkSchema),
  ...each('anyOf oneOf allOf prefixItems', schemas),
  ...each('properties dependentSchemas $defs', schemasByName),
  ...each('$ref', reference),
  ...each(
    'type',
    is('a type, or types', (value) => (Array.isArray(value) ? value.every(isType) : isType(value))),
  ),
  ...each('required', is('names', isNames)),
  ...each(
    'dependentRequired',
    is('names by name', (value) => isObject(value) && Object.values(value).every(isNames)),
  ),
  ...each('enum', is('an array', Array.isArray)),
  ...each('const default', anything),
  ...each('examples', is('an array', Array.isArray)),
  ...each('minProperties maxProperties minItems maxItems minLength maxLength minContains maxContains', count),
  ...each('minimum maximum exclusiveMinimum exclusiveMaximum', number),
  ...each(
    'multipleOf',
    is('a number above 0', (value) => typeof value === 'number' && value > 0),
  ),
  ...each('uniqueItems deprecated readOnly writeOnly', flag),
  ...each('title description $comment', text),
  ...each(
    '$schema',
    is(quoted(DIALECT), (value) => value === DIALECT),
  ),
]);

function quoted(text: string): string {
  return `"${printable(text, quotedCharsMax)}"`;
}

/** A name as a member of a JSON pointer. RFC 6901. */
function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
