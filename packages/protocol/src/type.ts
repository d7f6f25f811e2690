/**
 * The functions that the contract's schemas are written with: the part of TypeBox that the contract uses, with TypeBox's types
 * and the same plain JSON Schema (draft 2020-12) as results. TypeBox itself also interprets a language of types: some seven
 * hundred modules, which a service would load at every start and never use. `type.test.ts` compares each function with
 * TypeBox's.
 */
import type { TObject, TProperties, TSchema, Type as TypeBox } from 'typebox';

export type { Static, TObject, TOptional, TSchema } from 'typebox';

type Options = Readonly<Record<string, unknown>>;
type Schema = Record<string, unknown>;

/** Marks an optional member. The mark is not enumerable: JSON has the parent's `required` instead. */
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

/** The members of an object type, each optional. Its options are not kept, as in TypeBox. */
function partial({ properties }: Schema): Schema {
  const members = Object.entries(properties as Record<string, Schema>);
  return object(Object.fromEntries(members.map(([name, schema]) => [name, optional(schema)])));
}

function words(values: readonly string[], options: Options = {}): Schema {
  return { enum: [...values], ...options };
}

/** An object type whose members have names that match the pattern of `key`. */
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

/** The functions that make schemas; each makes the same schema as TypeBox's function of the same name. */
export const Type = plain as unknown as Pick<typeof TypeBox, keyof typeof plain>;

/** A schema that also allows null: the contract writes null for an unknown value, and does not leave the member out. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** An object with a member for each of the names, all of one schema. */
export const Each = <Name extends string, T extends TSchema>(names: readonly Name[], schema: T) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, T>);

/** An object that has no other members than these. */
export const Closed = <P extends TProperties>(properties: P, options: Options = {}): TObject<P> =>
  Type.Object(properties, { additionalProperties: false, ...options });
