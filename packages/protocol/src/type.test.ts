import { Type as TypeBox } from 'typebox';
import { expect, test } from 'vitest';
import { Type } from './type.ts';

type Words = typeof Type;

/** Schemas made by each function of `Type`, with and without options. */
const schemas: Readonly<Record<string, (type: Words) => unknown>> = {
  String: (type) => [type.String(), type.String({ minLength: 1, pattern: '^a' })],
  Integer: (type) => [type.Integer(), type.Integer({ minimum: 0 })],
  Number: (type) => [type.Number(), type.Number({ exclusiveMinimum: 0, description: 'more' })],
  Boolean: (type) => [type.Boolean(), type.Boolean({ description: 'either' })],
  Null: (type) => type.Null(),
  Unknown: (type) => type.Unknown(),
  Literal: (type) => [type.Literal('a'), type.Literal(true), type.Literal(1)],
  Enum: (type) => [type.Enum(['a', 'b']), type.Enum(['a'], { description: 'one' })],
  Array: (type) => type.Array(type.String(), { maxItems: 2 }),
  Object: (type) => [
    type.Object({}),
    type.Object({ a: type.Optional(type.String()) }),
    type.Object({ a: type.String(), b: type.Optional(type.Null()) }, { additionalProperties: false }),
  ],
  Record: (type) => type.Record(type.String({ pattern: '^[a-z]$' }), type.String(), { maxProperties: 2 }),
  Union: (type) => type.Union([type.String(), type.Null()], { description: 'or nothing' }),
  Optional: (type) => type.Optional(type.String({ maxLength: 3 })),
  Partial: (type) => type.Partial(type.Object({ a: type.String(), b: type.Number() }, { additionalProperties: false })),
};

test.each(Object.keys(Type))(
  'the builder of %s makes the same schema as TypeBox, with the members in the same order',
  (word) => {
    const schema = schemas[word];
    if (schema === undefined) throw new Error(`there is no example of ${word}`);
    expect(JSON.stringify(schema(Type))).toBe(JSON.stringify(schema(TypeBox)));
  },
);
