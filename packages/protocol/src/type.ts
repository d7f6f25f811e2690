/**
 * The words that the contract's schemas are written in: those of TypeBox that it uses, with TypeBox's types, making the same
 * plain JSON Schema (draft 2020-12). TypeBox itself has a language for types and its own interpreter of it, some seven hundred
 * modules that a service would load at every start and never use. `type.test.ts` holds each word beside TypeBox's.
 */
import type { TSchema, Type as TypeBox } from 'typebox';

export type { Static, TObject, TSchema } from 'typebox';

type Options = Readonly<Record<string, unknown>>;
type Schema = Record<string, unknown>;

/** Marks a member that may be left out. It is not enumerable: a schema's JSON says so in `required` of its parent. */
const OPTIONAL = '~optional';

function isOptional(schema: object): boolean {
  return OPTIONAL in schema;
}

function optional(schema: Schema): Schema {
  return Object.defineProperty({ ...schema }, OPTIONAL, { value: true });
}

function object(properties: Readonly<Record<string, Schema>>, options: Options = {}): Schema {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}));
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

/** The members of an object type, each of which may be left out. Its options are not kept, as TypeBox does. */
function partial({ properties }: Schema): Schema {
  const members = Object.entries(properties as Record<string, Schema>);
  return object(Object.fromEntries(members.map(([name, schema]) => [name, optional(schema)])));
}

function words(values: readonly string[], options: Options = {}): Schema {
  return { enum: [...values], ...options };
}

/** Names are those that the pattern of `key` fits. */
function record(key: Schema, value: Schema, options: Options = {}): Schema {
  return { type: 'object', patternProperties: { [String(key['pattern'])]: value }, ...options };
}

const plain = {
  String: (options: Options = {}) => ({ type: 'string', ...options }),
  Integer: (options: Options = {}) => ({ type: 'integer', ...options }),
  Number: (options: Options = {}) => ({ type: 'number', ...options }),
  Boolean: (options: Options = {}) => ({ type: 'boolean', ...options }),
  Null: () => ({ type: 'null' }),
  Unknown: () => ({}),
  Literal: (value: string | number | boolean) => ({ type: typeof value, const: value }),
  Enum: words,
  Array: (items: Schema, options: Options = {}) => ({ type: 'array', items, ...options }),
  Object: object,
  Record: record,
  Union: (anyOf: readonly Schema[], options: Options = {}) => ({ anyOf, ...options }),
  Optional: optional,
  Partial: partial,
};

/** Each makes a schema, as the word of the same name in TypeBox does. */
export const Type = plain as unknown as Pick<typeof TypeBox, keyof typeof plain>;

/** A schema that also admits null: the contract says null where nothing is known, and omits nothing. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
