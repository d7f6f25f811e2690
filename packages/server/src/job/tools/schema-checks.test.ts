import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchemaChecks, UNCHECKED } from './schema-checks.ts';

let checks: SchemaChecks;
beforeEach(() => {
  checks = new SchemaChecks();
});
afterEach(() => checks[Symbol.asyncDispose]());

const asked = (schema: unknown, value: string, tenant = 'acme') =>
  checks.misfit(tenant, { schema: JSON.stringify(schema), value });

test.each<[string, unknown, string]>([
  ['a type', { type: 'string' }, '"x"'],
  [
    'a reference to itself',
    { properties: { next: { $ref: '#' } }, additionalProperties: false },
    '{"next":{"next":{}}}',
  ],
  ['a name with a slash, and with a tilde', { $ref: '#/$defs/a~1b~0"', $defs: { 'a/b~"': { type: 'null' } } }, 'null'],
  ['alternatives', { oneOf: [{ type: 'null' }, { type: 'integer', minimum: 3 }] }, '3'],
  ['a condition', JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'), '{}'],
  ['an item at each place', { prefixItems: [{ const: 1 }], items: { type: 'string' } }, '[1,"a"]'],
  ['items that differ', { uniqueItems: true }, '[{"a":1},{"a":2}]'],
  ['a schema of a member by the name of a prototype', { properties: { ['__proto__']: { type: 'string' } } }, '{}'],
  ['a member of a prototype that is there', { required: ['__proto__'] }, '{"__proto__":1}'],
])('a value that fits its schema is accepted: %s', async (_, schema, value) => {
  expect(await asked(schema, value)).toBeNull();
});

test.each<[string, unknown, string, RegExp]>([
  ['another type', { properties: { q: { type: 'string' } } }, '{"q":1}', /^at \/q: .*"string"/],
  ['a missing member', { required: ['q'] }, '{}', /"q"/],
  ['a member that only a prototype has', { required: ['toString'] }, '{}', /toString/],
  ['an extra member', { additionalProperties: false }, '{"constructor":1}', /./],
  ['a value that terminals act on', { additionalProperties: false }, '{"\\u001b[2J":1}', /^[\x20-\x7e]*$/],
  ['two alternatives', { oneOf: [{}, {}] }, '1', /./],
  ['the same item twice', { uniqueItems: true }, '[[1],[1]]', /./],
  ['a schema that allows nothing', false, '1', /./],
])('the answer says why a value does not fit: %s', async (_, schema, value, words) => {
  expect(await asked(schema, value)).toMatch(words);
});

const LAST = 40;
const DOUBLING = {
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    Array.from({ length: LAST + 1 }, (_, at) => [
      `a${at}`,
      at === LAST ? {} : { allOf: Array(2).fill({ $ref: `#/$defs/a${at + 1}` }) },
    ]),
  ),
};

test('a check that takes too long or exhausts the stack is given up, and the next check is made', async () => {
  expect(await asked({ $ref: '#' }, '1')).toBe(UNCHECKED);
  expect(await asked(DOUBLING, '1')).toBe(UNCHECKED);
  expect(await asked({ type: 'string' }, '"x"')).toBeNull();
});

test('a check of one tenant waits for at most one slow check of another tenant', async () => {
  const order: string[] = [];
  const noted = (name: string, check: Promise<unknown>) => check.then(() => order.push(name));
  await Promise.all([
    ...[1, 2, 3].map((at) => noted(`slow ${at}`, asked(DOUBLING, '1', 'slow'))),
    noted('quick', asked({}, '1', 'quick')),
  ]);
  expect(order).toEqual(['slow 1', 'quick', 'slow 2', 'slow 3']);
});

test('a stopping service answers that the waiting checks were not made', async () => {
  const waiting = [asked(DOUBLING, '1'), asked({}, '1')];
  await checks[Symbol.asyncDispose]();
  expect(await Promise.all(waiting)).toEqual([UNCHECKED, UNCHECKED]);
});
