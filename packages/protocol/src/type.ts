/**
 * The functions with which the contract's schemas are written. They are the part of TypeBox that the contract uses, with
 * TypeBox's types, and they make the same plain JSON Schema (draft 2020-12). TypeBox also has some seven hundred modules that
 * interpret a language of types. A service would load them at every start and never use them. `type.test.ts` compares each
 * function with TypeBox's.
 */
import type { TObject, TProperties, TSchema, Type as TypeBox } from 'typebox';

export type { Static, TObject, TOptional, TSchema } from 'typebox';

type Options = Readonly<Record<string, unknown>>;
type Schema = Record<string, unknown>;

/** Marks an optional member. The mark is not enumerable, because the parent's `required` takes its place in JSON. */
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

/** An object type with the same members, each optional. As in TypeBox, the type's options are dropped. */
function partial({ properties }: Schema): Schema {
  const members = Object.entries(properties as Record<string, Schema>);
  return object(Object.fromEntries(members.map(([name, schema]) => [name, optional(schema)])));
}

function words(values: readonly string[], options: Options = {}): Schema {
  return { enum: [...values], ...options };
}

/** An object type whose member names match the pattern of `key`. */
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

/** A schema that also allows null. The contract writes null for an unknown value instead of leaving the member out. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** An object with a member for each name. All members have the same schema. */
export const Each = <Name extends string, T extends TSchema>(names: readonly Name[], schema: T) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, T>);

/** An object that has no other members than these. */
export const Closed = <P extends TProperties>(properties: P, options: Options = {}): TObject<P> =>
  Type.Object(properties, { additionalProperties: false, ...options });
