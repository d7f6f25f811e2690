import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { jsonText, Spelled, withMembers } from './json-text.ts';

const seed = inject('propertySeed');
/** JavaScript lists names that are whole numbers before others; no member of the contract has such a name. */
const names = fc.stringMatching(/^[a-z_][a-z_0-9]{0,8}$/).filter((name) => name !== '__proto__');
const objects = fc.dictionary(names, fc.oneof(fc.jsonValue(), fc.constant(undefined)), { noNullPrototype: true });

test('an object with some members given as JSON text is written as JSON.stringify would write it', () => {
  const property = fc.property(objects, fc.infiniteStream(fc.boolean()), (object, areText) => {
    const members = Object.entries(object).map(([name, value]) => {
      const isText = value !== undefined && areText.next().value === true;
      return [name, isText ? new Spelled(JSON.stringify(value)) : value] as const;
    });
    expect(jsonText(Object.fromEntries(members))).toBe(JSON.stringify(object));
  });
  fc.assert(property, { seed, numRuns: 1000 });
});

test('new members are appended to an object given as JSON text', () => {
  const base = jsonText<{ a: number }>({ a: 1 });
  expect(withMembers<{ a: number; b: string }, { a: number }>(base, { b: '"' })).toBe('{"a":1,"b":"\\""}');
});
