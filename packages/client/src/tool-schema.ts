/**
 * Schemas for tools: plain JSON Schema, or a schema from a library that follows Standard Schema, such as Zod, Valibot or
 * ArkType. The service gets the library's JSON Schema. Here, the library checks arguments as well, and may change them.
 */

/** A schema that follows https://standardschema.dev. It may be able to give its JSON Schema. */
export interface StandardSchema {
  readonly '~standard': {
    validate(value: unknown): StandardResult | Promise<StandardResult>;
    readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: { readonly target: string }) => object>>;
  };
}

type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

export type ToolSchema = Readonly<Record<string, unknown>> | StandardSchema;

/** Schemas from libraries that have their own method for giving the JSON Schema. */
interface Telling {
  readonly toJSONSchema?: (options: { readonly io: 'input' | 'output' }) => object;
  readonly toJsonSchema?: () => object;
}

/** The keywords that a service accepts. The library itself checks other keywords, such as `pattern`. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `type enum const properties required additionalProperties items prefixItems contains minContains maxContains anyOf oneOf allOf not
   if then else dependentRequired dependentSchemas propertyNames minProperties maxProperties minItems maxItems uniqueItems minLength
   maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf $ref $defs title description default examples deprecated
   readOnly writeOnly $comment`.split(/\s+/),
);
/** Keywords that hold schemas under names that the caller chose, and keywords whose value is not a schema. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', '$defs', 'dependentSchemas']);
const VALUES: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'examples',
  'required',
  'type',
  'dependentRequired',
]);

/** The JSON Schema to send; undefined if there is no schema or its library gives none. */
export function jsonSchemaOf(
  schema: ToolSchema | undefined,
  side: 'input' | 'output',
): Record<string, unknown> | undefined {
  if (schema === undefined || !isStandard(schema)) return schema;
  const { toJSONSchema, toJsonSchema } = schema as Telling;
  const told =
    schema['~standard'].jsonSchema?.[side]({ target: 'draft-2020-12' }) ??
    toJSONSchema?.call(schema, { io: side }) ??
    toJsonSchema?.call(schema);
  return told === undefined ? undefined : (known(told) as Record<string, unknown>);
}

/** The value that the schema's library returns, or the library's error. */
export async function validated(
  schema: ToolSchema | undefined,
  value: unknown,
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  if (schema === undefined || !isStandard(schema)) return { value };
  const found = await schema['~standard'].validate(value);
  if (found.issues === undefined) return { value: found.value };
  return {
    problem: found.issues.map(({ message, path = [] }) => [...path.map(nameOf), message].join(': ')).join('; '),
  };
}

function isStandard(schema: ToolSchema): schema is StandardSchema {
  return typeof schema['~standard'] === 'object' || typeof schema['~standard'] === 'function';
}

/** The name of a path's part. A part is a text or a number, or an object whose `key` is a text or a number. */
function nameOf(part: unknown): string {
  return String(typeof part === 'object' && part !== null ? (part as { readonly key: unknown }).key : part);
}

/** A schema with only the known keywords. */
function known(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(known);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(([word]) => KEYWORDS.has(word));
  return Object.fromEntries(kept.map(([word, value]) => [word, knownIn(word, value)]));
}

function knownIn(word: string, value: unknown): unknown {
  if (VALUES.has(word)) return value;
  if (!BY_NAME.has(word)) return known(value);
  return Object.fromEntries(Object.entries(value as object).map(([name, schema]) => [name, known(schema)]));
}
