import { jsonDepthMax } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { hasPublishedVectors, ownVectors, publishedBytes, publishedFiles } from '../test/vectors.ts';
import { parseStrictJson } from './strict-json.ts';

const encode = (text: string) => new TextEncoder().encode(text);

describe('strict JSON (RFC 8259, RFC 7493)', () => {
  test.each([
    '{}',
    ' [1, -2.5e3, "a\\"b\\\\", true, null] ',
    '"\\ud83d\\ude00"',
    '{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
    '{"a":"b","b":"a"}',
    '{"\\\\":1,"\\"":2}',
    '""',
    '0',
  ])('reads %s as JSON.parse does', (text) => {
    expect(parseStrictJson(encode(text))).toEqual({ kind: 'value', value: JSON.parse(text) as unknown });
  });

  const { cases } = ownVectors<{ cases: { name: string; b64: string }[] }>('jcs/negative.json');
  test.each(cases.map(({ name, b64 }) => [name, b64] as const))('refuses the published vector: %s', (_name, b64) => {
    expect(parseStrictJson(Uint8Array.fromBase64(b64))).toMatchObject({ kind: 'refused' });
  });

  test.each([
    ['a member named twice', '{"a":1,"b":2,"a":3}', /twice at "\/a"/],
    ['a member named twice by an escape', '{"a":1,"\\u0061":2}', /twice at "\/a"/],
    ['a member named twice inside an array', '[{"a":1,"a":1}]', /twice/],
    ['a member named twice around a nested object', '{"a":{"x":[1]},"a":1}', /twice/],
    ['__proto__ named twice', '{"__proto__":1,"__proto__":2}', /twice/],
    ['a number out of range', '[-1e999]', /that a double cannot hold/],
    ['an unfinished string', '{"a', /ends before its value does/],
    ['nothing', '', /ends before/],
    ['closing brackets alone', ']]]}', /not JSON/],
    ['a raw control character in a string', '"\n"', /not JSON/],
    ['one level too many', '['.repeat(jsonDepthMax + 1) + ']'.repeat(jsonDepthMax + 1), /deeper/],
  ])('refuses %s', (_name, text, reason) => {
    expect(parseStrictJson(encode(text))).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) as string });
  });

  test.each([jsonDepthMax - 1, jsonDepthMax])('reads text that nests %i levels deep', (depth) => {
    expect(parseStrictJson(encode('['.repeat(depth) + ']'.repeat(depth)))).toMatchObject({ kind: 'value' });
  });

  test('reads a member named __proto__ without changing the prototype of the value', () => {
    const result = parseStrictJson(encode('{"__proto__":{"tenant":"x"}}'));
    if (result.kind === 'refused') throw new Error(result.reason);
    expect(Object.getPrototypeOf(result.value)).toBe(Object.prototype);
    expect((result.value as Record<string, unknown>)['tenant']).toBeUndefined();
  });

  test('reads a string of 100,000 backslashes in linear time', () => {
    const text = JSON.stringify({ a: '\\'.repeat(100_000), b: '"'.repeat(100_000) });
    expect(parseStrictJson(encode(text))).toMatchObject({ kind: 'value' });
  });
});

describe.skipIf(!hasPublishedVectors('jsontestsuite'))('the published JSONTestSuite', () => {
  /** Valid JSON that two readers may understand differently. It is refused on purpose. */
  const AMBIGUOUS = ['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json'];
  const files = publishedFiles('jsontestsuite/test_parsing/');
  const wronglyRead = (prefix: string, kind: 'value' | 'refused') =>
    files.filter((file) => file.startsWith(prefix) && readFile(file) !== kind);
  const readFile = (file: string) => parseStrictJson(publishedBytes(`jsontestsuite/test_parsing/${file}`)).kind;

  test('valid texts are read, except texts that name a member twice', () => {
    expect(files.filter((file) => file.startsWith('y_'))).toHaveLength(95);
    expect(wronglyRead('y_', 'value')).toEqual(AMBIGUOUS);
  });

  test('invalid texts are refused', () => {
    expect(files.filter((file) => file.startsWith('n_'))).toHaveLength(188);
    expect(wronglyRead('n_', 'refused')).toEqual([]);
  });

  test('texts that the RFC leaves open are refused, except numbers that a double rounds', () => {
    expect(files.filter((file) => file.startsWith('i_') && readFile(file) === 'value')).toEqual([
      'i_number_double_huge_neg_exp.json',
      'i_number_real_underflow.json',
      'i_number_too_big_neg_int.json',
      'i_number_too_big_pos_int.json',
      'i_number_very_big_negative_int.json',
    ]);
  });
});
