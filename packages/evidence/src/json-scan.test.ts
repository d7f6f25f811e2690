import { jsonDepthMax } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { JsonProblem, type JsonRules, JsonScan, numberBytesMax } from './json-scan.ts';

const exact: JsonRules = { tokensMax: Number.POSITIVE_INFINITY, numbers: 'exact' };
const rounded: JsonRules = { tokensMax: Number.POSITIVE_INFINITY, numbers: 'rounded' };

interface Given {
  readonly rules?: JsonRules;
  readonly step?: number;
}

/** The problem that a scan finds; null if it finds none. */
function faultOf(text: string, { rules = exact, step = Number.POSITIVE_INFINITY }: Given = {}): string | null {
  const scan = new JsonScan(new TextEncoder().encode(text), rules);
  try {
    // Each step reads at least one byte. One more step finds the end.
    for (let steps = 0; steps <= text.length * 2 + 2; steps += 1) if (scan.run(step)) return null;
    return 'never ends';
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    return `${error.problem} at ${error.place}`;
  }
}

const notJson = (byte: number) => `is not JSON at byte ${byte}`;
const cutShort = (byte: number) => `ends before its value does at byte ${byte}`;
const lone = (place: string) => `holds a lone surrogate at "${place}"`;
const loneName = (place: string) => `names a member with a lone surrogate at "${place}"`;
const notHeld = (place: string) => `holds a number that a double cannot hold at "${place}"`;

const TEXTS: [text: string, problem: string | null][] = [
  ['', cutShort(0)],
  [' ', cutShort(1)],
  ['\t\n\r 1\t\n\r ', null],
  ['\v1', notJson(0)],
  ['1\f', notJson(1)],
  ['1 2', notJson(2)],
  ['{}{', notJson(2)],
  ['[]]', notJson(2)],
  ['[', cutShort(1)],
  ['[1', cutShort(2)],
  ['[1,', cutShort(3)],
  ['[1,]', notJson(3)],
  ['[,1]', notJson(1)],
  ['[1 2]', notJson(3)],
  ['[1:2]', notJson(2)],
  ['[1/2]', notJson(2)],
  ['[1}', notJson(2)],
  ['{', cutShort(1)],
  ['{"a"', cutShort(4)],
  ['{"a"}', notJson(4)],
  ['{"a":', cutShort(5)],
  ['{"a":}', notJson(5)],
  ['{"a":1', cutShort(6)],
  ['{"a":1,', cutShort(7)],
  ['{"a":1,}', notJson(7)],
  ['{"a":1]', notJson(6)],
  ['{"a",1}', notJson(4)],
  ['{a:1}', notJson(1)],
  ['{1:1}', notJson(1)],
  ['true', null],
  ['false', null],
  ['null', null],
  ['tru', notJson(0)],
  ['True', notJson(0)],
  ['[nullx]', notJson(1)],
  ['[true@]', notJson(5)],
  ['[true`]', notJson(5)],
  ['[true{]', notJson(5)],
  ['[true[]', notJson(5)],
  ['[0,-0,9,10,-1.5,0.5,1e1,1E+1,1e-1]', null],
  ['01', notJson(0)],
  ['+1', notJson(0)],
  ['1.', notJson(0)],
  ['.1', notJson(0)],
  ['1e', notJson(0)],
  ['-', notJson(0)],
  ['1,', notJson(1)],
  ['"', cutShort(1)],
  ['"a', cutShort(2)],
  ['"a"b', notJson(3)],
  ['"\u001f"', notJson(1)],
  ['"\u0020\u007f"', null],
  [String.raw`"\"\\\/\b\f\n\r\t"`, null],
  [String.raw`"\x"`, notJson(2)],
  [String.raw`"\U0041"`, notJson(2)],
  ['"\\', cutShort(2)],
  [String.raw`"\u0041\u00fF\uABCD\uabcd"`, null],
  [String.raw`"\u004"`, notJson(6)],
  [String.raw`"\u00g1"`, notJson(5)],
  [String.raw`"\u00G1"`, notJson(5)],
  [String.raw`"\u00/1"`, notJson(5)],
  [String.raw`"\u00:1"`, notJson(5)],
  [String.raw`"\u00@1"`, notJson(5)],
  ['"\\u0', cutShort(4)],
  [String.raw`"\ud7ff\ue000"`, null],
  [String.raw`"\ud800\udc00\udbff\udfff"`, null],
  [String.raw`"\ud800"`, lone('')],
  [String.raw`"\udc00"`, lone('')],
  [String.raw`"\udfff"`, lone('')],
  [String.raw`"\udc00\udc00"`, lone('')],
  [String.raw`"\udbff\ue000"`, lone('')],
  [String.raw`"\ud800\udbff"`, lone('')],
  [String.raw`"\ud800\n"`, lone('')],
  [String.raw`"\ud800udc00"`, lone('')],
  [String.raw`"\ud800\\udc00"`, lone('')],
  [String.raw`["a",{"b/c":{"~":"\udc00"}}]`, lone('/1/b~1c/~0')],
  [String.raw`{"a":1,"\ud800":1}`, loneName('')],
  [String.raw`{"a":[{"b":1},{"b":1,"c\udc00":1}]}`, loneName('/a/1')],
  [String.raw`{"a":1,"b":"\ud800"}`, lone('/b')],
  ['{"a":[0,{"b":1,"b":2}]}', 'names a member twice at "/a/1/b"'],
  ['{"b":{"a":1},"c":{"a":1}}', null],
  ['9007199254740991', null],
  ['9007199254740992', null],
  ['9007199254740993', notHeld('')],
  ['[0,1,-9007199254740993]', notHeld('/2')],
  ['100000000000000000000', null],
  ['9007199254740993.0', null],
  ['1e400', notHeld('')],
  ['-1e400', notHeld('')],
  ['1e-400', null],
];

describe('the scanner of JSON', () => {
  test.each(TEXTS)('finds the fault of %j: %s', (text, problem) => {
    expect(faultOf(text)).toBe(problem);
  });

  test.each([1, 2, 3])('finds the same faults if it reads %i bytes at a time', (step) => {
    for (const [text, problem] of TEXTS) expect([text, faultOf(text, { step })]).toEqual([text, problem]);
  });

  test('pauses after a number of bytes, even within a string', () => {
    const scan = new JsonScan(new TextEncoder().encode(' "abcdef" '), exact);
    expect([scan.run(4), scan.run(4), scan.run(4)]).toEqual([false, false, true]);
  });

  test.each([-1, 0, 1])('accepts as many tokens as the bound allows, and no token more: the bound plus %i', (more) => {
    // The tokens are the object, two names, the array and three values.
    const problem = faultOf('{"a":[1,true],"b":"c"}', { rules: { ...exact, tokensMax: 7 - more } });
    expect(problem).toBe(more === 1 ? 'holds more than 6 tokens at byte 18' : null);
  });

  test.each([-1, 0, 1])('accepts as many levels as the bound allows, and no level more: the bound plus %i', (more) => {
    const depth = jsonDepthMax + more;
    const problem = faultOf('['.repeat(depth) + ']'.repeat(depth));
    expect(problem).toBe(more === 1 ? `nests deeper than ${jsonDepthMax} at "${'/0'.repeat(jsonDepthMax)}"` : null);
  });

  test.each([-1, 0, 1])(
    'accepts a number of as many bytes as the bound allows, and no byte more: the bound plus %i',
    (more) => {
      const problem = faultOf(`[0.${'1'.repeat(numberBytesMax - 2 + more)}]`);
      expect(problem).toBe(more === 1 ? 'holds a number that is too long at byte 1' : null);
      expect(numberBytesMax).toBe(1024);
    },
  );

  test('may round integers that a double cannot hold exactly, but refuses numbers beyond the range of a double', () => {
    expect(faultOf('9007199254740993', { rules: rounded })).toBeNull();
    expect(faultOf('1e400', { rules: rounded })).toBe(notHeld(''));
  });
});

describe('where limits may have approximate numbers, the numbers', () => {
  const rules: JsonRules = { ...exact, approximateIn: 'limits' };

  test.each([
    ['{"limits":{"a":1e400}}', null],
    ['{"limits":{"a":9007199254740993}}', null],
    ['{"limits":1e400}', notHeld('/limits')],
    ['{"limits":[1e400]}', notHeld('/limits/0')],
    ['{"limits":{"a":{"b":1e400}}}', notHeld('/limits/a/b')],
    ['{"other":{"a":1e400}}', notHeld('/other/a')],
    ['{"a":{"limits":{"a":1e400}}}', notHeld('/a/limits/a')],
    ['1e400', notHeld('')],
  ])('in %s have the problem %s', (text, problem) => {
    expect(faultOf(text, { rules })).toBe(problem);
  });

  test.each([
    ['{"limits":{"a":1e400,"b":1}}', false],
    ['{"limits":{"a":-1e400}}', false],
    ['{"limits":{"a":9007199254740993}}', true],
    ['{}', true],
  ])('in %s are within the range of a double: %s', (text, isWithin) => {
    const scan = new JsonScan(new TextEncoder().encode(text), rules);
    expect(scan.run(Number.POSITIVE_INFINITY)).toBe(true);
    expect(scan.isFinite).toBe(isWithin);
  });
});
