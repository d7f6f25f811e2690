import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { hasPublishedVectors, publishedBytes } from '../test/vectors.ts';
import { canonicalJson } from './canonical-json.ts';

describe('canonical JSON (RFC 8785)', { tags: ['CHAIN-04'] }, () => {
  test('orders members by UTF-16 code units, at every depth', () => {
    expect(canonicalJson({ '\ufb33': 1, '\u{1f600}': 2, b: { z: 1, a: 2 }, a: [] })).toBe(
      '{"a":[],"b":{"a":2,"z":1},"\u{1f600}":2,"\ufb33":1}',
    );
  });

  test('writes numbers as ECMAScript does, and minus zero as zero', () => {
    expect(canonicalJson([-0, 1.0, 1e21, 1e-7, 0.1, 2 ** 53])).toBe('[0,1,1e+21,1e-7,0.1,9007199254740992]');
  });

  test('keeps a member named __proto__ as a member', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1},"b":1}');
  });

  test('leaves out undefined members', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  test.each<[string, unknown]>([
    ['a lone surrogate', 'a\ud800'],
    ['a lone surrogate in a name', { '\udc00': 1 }],
    ['NaN', [Number.NaN]],
    ['an infinity', { a: Number.POSITIVE_INFINITY }],
    ['a BigInt', 1n],
    ['a cycle', cycle],
    ['undefined', undefined],
    ['a function', () => 1],
  ])('refuses %s', (_name, value) => {
    expect(() => canonicalJson(value)).toThrow(Error);
  });
});

describe('the canonical text of any JSON value', () => {
  const anyJson = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' });

  test('equals the text of another implementation', { tags: ['CHAIN-04'] }, () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
      { seed: inject('propertySeed') },
    );
  });

  test('stays the same when it is parsed and written again', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
      { seed: inject('propertySeed') },
    );
  });

  test.each<[string, unknown, string]>([
    ['names that are numbers', { 9: 1, 10: 2, a: 3 }, '{"10":2,"9":1,"a":3}'],
    ['ordered names that are numbers', { 1: 1, 2: 2 }, '{"1":1,"2":2}'],
    ['holes in an array', new Array(2), '[null,null]'],
    ['a hole before a value', Object.assign(new Array(2), { 1: 'a' }), '[null,"a"]'],
    ['undefined in an array', [undefined], '[null]'],
    ['a date', { a: new Date(0) }, '{"a":"1970-01-01T00:00:00.000Z"}'],
    ['a member that serializes itself', { a: { toJSON: () => ({ c: 1, b: 2 }) } }, '{"a":{"b":2,"c":1}}'],
    ['an object of a class', Object.assign(new (class {})(), { b: 1, a: 2 }), '{"a":2,"b":1}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1, b: 2 }), '{"a":1,"b":2}'],
    ['controls, quotes and line separators', { a: '\b\u001f"\\\u2028\x7f' }, '{"a":"\\b\\u001f\\"\\\\\u2028\x7f"}'],
  ])('%s', (_what, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test('sorts the members of values nested 500 levels deep', () => {
    const nested = (depth: number): unknown => (depth === 0 ? { b: 1, a: 2 } : { a: nested(depth - 1) });
    for (const depth of [30, 31, 32, 33, 500]) expect(canonicalJson(nested(depth))).toBe(canonicalize(nested(depth)));
  });
});

describe.skipIf(!hasPublishedVectors('jcs'))('the published JCS vectors', () => {
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

  test.each(['arrays', 'french', 'structures', 'unicode', 'values', 'weird'])('%s', (name) => {
    const input: unknown = JSON.parse(decode(publishedBytes(`jcs/input/${name}.json`)));
    const bytes = new TextEncoder().encode(canonicalJson(input));
    expect(bytes).toEqual(publishedBytes(`jcs/output/${name}.json`));
    expect(bytes.toHex()).toBe(decode(publishedBytes(`jcs/outhex/${name}.txt`)).replaceAll(/\s/g, ''));
  });

  test('10,000 doubles have the published texts', () => {
    const view = new DataView(new ArrayBuffer(8));
    const lines = decode(publishedBytes('jcs/es6-numbers-10000.txt')).trimEnd().split('\n');
    const written = lines.map((line) => {
      view.setBigUint64(0, BigInt(`0x${line.split(',')[0]}`));
      return `${line.split(',')[0]},${canonicalJson(view.getFloat64(0))}`;
    });
    expect(written).toHaveLength(10_000);
    expect(written).toEqual(lines);
  });
});
