import { expect, test } from 'vitest';
import { bodyOf, LongJson, longArray, longObject } from './body.ts';

test('an object is written in the order of its members, and its long members are read in pieces', async () => {
  const read = {
    bytes: 4,
    pieces: async function* () {
      yield 'é';
      yield new TextEncoder().encode('xy');
    },
  };
  const long = new LongJson<string>('"', read, '"');
  const body = bodyOf(longObject<{ a: number; b: string; c: string[] }>({ a: 1, b: long, c: longArray([long, long]) }));
  const pieces = (await Array.fromAsync(body.pieces())).map((piece) => Buffer.from(piece));
  expect(Buffer.concat(pieces).toString()).toBe('{"a":1,"b":"éxy","c":["éxy","éxy"]}');
  expect(body.bytes).toBe(Buffer.concat(pieces).length);
  expect(body.text).toBeNull();
});

test('an object without long members is one text', () => {
  const body = bodyOf(longObject<{ a: string; b: string[] }>({ a: new LongJson('"', 'x', '"'), b: longArray([]) }));
  expect(body.text).toBe('{"a":"x","b":[]}');
});
