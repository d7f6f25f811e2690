/**
 * Checks whether a value fits a schema and, if not, says why. It knows the keywords that `type.ts` makes and the few that are
 * given as options. An unknown keyword is a bug. It is found when the schema is first used. JSON Schema Validation (draft
 * 2020-12), § 6. `misfit.test.ts` compares this check with another validator.
 */
import type { Static, TSchema } from 'typebox';

export type Keyword =
  | 'type'
  | 'required'
  | 'additionalProperties'
  | 'patternProperties'
  | 'properties'
  | 'maxProperties'
  | 'items'
  | 'minItems'
  | 'maxItems'
  | 'minLength'
  | 'maxLength'
  | 'pattern'
  | 'exclusiveMinimum'
  | 'minimum'
  | 'maximum'
  | 'const'
  | 'enum'
  | 'anyOf';

/** The first fault in a value. */
export interface Misfit {
  /** JSON Pointer (RFC 6901) to the wrong part: empty for the value itself. */
  readonly pointer: string;
  /** The keyword that the value violates: `unknown` for an unknown member, `required` for a missing one. */
  readonly keyword: Keyword | 'unknown';
  /** The keyword's value in the schema. */
  readonly allowed: unknown;
  /** Present if a member is missing: the first unknown member, which may be a misspelling of the missing member. */
  readonly unknown?: string;
}

type Member = string | number;
type Break = Omit<Misfit, 'pointer'> & { readonly at: readonly Member[] };
/** Checks one keyword of a schema. The value has the schema's type. */
type Rule = (value: never, allowed: never, schema: TSchema) => Break | null | boolean;

/** The first misfit of a value; null if it fits. Misfits in members come before misfits of the object itself. */
export function misfitOf(schema: TSchema, value: unknown): Misfit | null {
  const found = breakOf(schema, value);
  if (found === null) return null;
  const { at, ...misfit } = found;
  return { ...misfit, pointer: pointerOf(at) };
}

export function fits<T extends TSchema>(schema: T, value: unknown): value is Static<T> {
  return breakOf(schema, value) === null;
}

function pointerOf(at: readonly Member[]): string {
  return at.map((member) => `/${String(member).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function breakOf(schema: TSchema, value: unknown): Break | null {
  for (const keyword of keywordsOf(schema)) {
    const allowed = (schema as Record<string, unknown>)[keyword];
    const found = RULES[keyword](value as never, allowed as never, schema);
    if (found === true || found === null) continue;
    return found === false ? { at: [], keyword, allowed } : found;
  }
  return null;
}

const inside = (member: Member, found: Break | null): Break | null =>
  found === null ? null : { ...found, at: [member, ...found.at] };

type Members = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, TSchema>>;

/** The rules, in the order in which they are checked. A value with the wrong type is checked no further. */
const RULES: Readonly<Record<Keyword, Rule>> = {
  type: (value: unknown, type: string) => TYPES[type]?.(value) ?? false,
  required: (value: Members, names: readonly string[], schema: TSchema & ObjectKeywords) => {
    const missing = names.find((name) => !Object.hasOwn(value, name));
    if (missing === undefined) return null;
    const unknown = schema.additionalProperties === false ? unknownIn(value, schema) : undefined;
    return { at: [missing], keyword: 'required', allowed: true, ...(unknown !== undefined && { unknown }) };
  },
  additionalProperties: (value: Members, _: false, schema: TSchema) => {
    const unknown = unknownIn(value, schema);
    return unknown === undefined ? null : { at: [unknown], keyword: 'unknown', allowed: false };
  },
  patternProperties: (value: Members, patterns: Schemas) => {
    for (const [pattern, schema] of Object.entries(patterns)) {
      const names = Object.keys(value).filter((name) => expression(pattern).test(name));
      const found = firstOf(names, (name) => inside(name, breakOf(schema, value[name])));
      if (found !== null) return found;
    }
    return null;
  },
  properties: (value: Members, properties: Schemas, schema: TSchema) =>
    firstOf(Object.keys(properties), (name) =>
      isLeftOut(value, name, schema) ? null : inside(name, breakOf(properties[name] as TSchema, value[name])),
    ),
  maxProperties: (value: Members, most: number) => Object.keys(value).length <= most,
  items: (value: readonly unknown[], items: TSchema) =>
    firstOf([...value.keys()], (index) => inside(index, breakOf(items, value[index]))),
  minItems: (value: readonly unknown[], least: number) => value.length >= least,
  maxItems: (value: readonly unknown[], most: number) => value.length <= most,
  minLength: (value: string, least: number) => characters(value, least) >= least,
  maxLength: (value: string, most: number) => characters(value, most) <= most,
  pattern: (value: string, pattern: string) => expression(pattern).test(value),
  exclusiveMinimum: (value: number, least: number) => value > least,
  minimum: (value: number, least: number) => value >= least,
  maximum: (value: number, most: number) => value <= most,
  const: (value: unknown, only: unknown) => value === only,
  enum: (value: unknown, values: readonly unknown[]) => values.includes(value),
  anyOf: (value: unknown, schemas: readonly TSchema[]) => {
    const breaks = schemas.map((schema) => breakOf(schema, value));
    return breaks.includes(null) ? null : likeliest(breaks as Break[]);
  },
};

/**
 * Chooses the alternative whose misfit is reported: the first alternative that has the value's type and whose required
 * members the value has, or else the first of all alternatives, which is never the type null.
 */
function likeliest(breaks: readonly Break[]): Break {
  const isNear = ({ keyword, at }: Break) => keyword !== 'required' && (keyword !== 'type' || at.length > 0);
  return breaks.find(isNear) ?? (breaks[0] as Break);
}

const KEYWORDS = Object.keys(RULES) as readonly Keyword[];
/** Keywords that constrain nothing. */
const SILENT = new Set(['description', 'default', 'title']);
const known = new WeakMap<TSchema, readonly Keyword[]>();

/** The keywords of a schema, in the order of the rules. */
function keywordsOf(schema: TSchema): readonly Keyword[] {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const given = Object.keys(schema).filter((name) => !SILENT.has(name));
  const keywords = KEYWORDS.filter((name) => given.includes(name));
  if (keywords.length < given.length) throw new Error(`a schema has unknown keywords: ${given.join(', ')}`);
  known.set(schema, keywords);
  return keywords;
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};

/** The first member that the schema does not name. */
function unknownIn(value: Members, schema: TSchema): string | undefined {
  return Object.keys(value).find((name) => schemaOf(schema, name) === null);
}

/** The schema of a member by its name; null if the schema has no such member. */
function schemaOf({ properties = {}, patternProperties = {} }: TSchema & ObjectKeywords, name: string): TSchema | null {
  if (Object.hasOwn(properties, name)) return properties[name] ?? null;
  const pattern = Object.keys(patternProperties).find((candidate) => expression(candidate).test(name));
  return pattern === undefined ? null : (patternProperties[pattern] ?? null);
}

interface ObjectKeywords {
  readonly properties?: Schemas;
  readonly patternProperties?: Schemas;
  readonly additionalProperties?: false;
}

/** An optional member that is undefined counts as absent. */
function isLeftOut(
  value: Members,
  name: string,
  { required = [] }: TSchema & { required?: readonly string[] },
): boolean {
  if (!Object.hasOwn(value, name)) return true;
  return value[name] === undefined && !required.includes(name);
}

function firstOf<Item>(items: readonly Item[], look: (item: Item) => Break | null): Break | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}

/** The number of characters (code points) in a text, or the text's `length` if that already decides about the bound. */
function characters(text: string, bound: number): number {
  if (text.length < bound || text.length > 2 * bound) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const expressions = new Map<string, RegExp>();

function expression(pattern: string): RegExp {
  const found = expressions.get(pattern) ?? new RegExp(pattern, 'u');
  expressions.set(pattern, found);
  return found;
}
