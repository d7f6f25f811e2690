import { schemaProblem } from '@vouchbox/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { takenSchema } from './taken-schema.ts';

const string = { type: 'string' };

test.each<[string, unknown, unknown]>([
  ['accepted keywords stay as they are', { type: 'object', required: ['a'] }, { type: 'object', required: ['a'] }],
  [
    'the identifier and the formats of a library are left out',
    { $schema: 'http://json-schema.org/draft-07/schema#', properties: { 'a/b~': { ...string, format: 'uri' } } },
    { properties: { 'a/b~': string } },
  ],
  ['keywords of another draft are left out', { ...string, exclusiveMinimum: true, items: [string] }, string],
  ['a reference to a missing definition is left out too', { definitions: { a: string }, $ref: '#/definitions/a' }, {}],
])('%s', (_name, schema, taken) => {
  expect(takenSchema(schema)).toEqual(taken);
});

const deep = (depth: number, last: unknown = {}): unknown =>
  depth === 0 ? last : { properties: { a: deep(depth - 1, last) } };

test.each<[string, unknown]>([
  ['a list that would lose an item', { anyOf: [string, 7] }],
  ['a negation whose schema would lose a keyword', { not: { pattern: 'x' } }],
  ['names that only a removed keyword allows', { patternProperties: { '^x': {} }, additionalProperties: false }],
  ['a schema that is too large', { enum: ['x'.repeat(17_000)] }],
  ['a schema that is far too large', { $comment: 'x'.repeat(2 ** 20) }],
  ['a schema with too much to leave out', Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x${at}`, at]))],
  ['a text without a UTF-8 form', { title: '\ud800' }],
  ['a schema too deep for any code to walk', JSON.parse(`${'{"not":'.repeat(50_000)}1${'}'.repeat(50_000)}`)],
  ['a number', 7],
])('no schema is taken from %s', (_name, schema) => {
  expect(takenSchema(schema)).toBeUndefined();
});

test('a schema that is nested too deeply for a service is shortened to the accepted depth', () => {
  expect(takenSchema({ ...(deep(40) as object), required: ['a'] })).toEqual({
    ...(deep(8, true) as object),
    required: ['a'],
  });
});

test('a service accepts the shortened form of every schema', () => {
  const words = fc.constantFrom(
    'type',
    'properties',
    'items',
    'anyOf',
    '$ref',
    'format',
    'required',
    'not',
    '__proto__',
  );
  const value = fc.oneof(
    fc.constantFrom('object', 'no', 7, true, '#/properties/type', ['type']),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const inner = fc.dictionary(words, value, { maxKeys: 3 });
  const middle = fc.dictionary(words, fc.oneof(value, inner, fc.array(inner, { maxLength: 2 })), { maxKeys: 3 });
  fc.assert(
    fc.property(fc.dictionary(words, middle, { maxKeys: 4 }), (schema) => {
      const taken = takenSchema(schema);
      expect(taken === undefined ? null : schemaProblem(taken)).toBeNull();
    }),
  );
});
