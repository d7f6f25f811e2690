import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { numberBytesMax } from '@vouchbox/evidence';
import { jsonDepthMax, jsonTokensMax } from '@vouchbox/protocol';
import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { parseStrictJson } from './strict-json.ts';

const parse = (text: string | Buffer) => parseStrictJson(typeof text === 'string' ? Buffer.from(text) : text);
const refused = (says: string): unknown =>
  expect.objectContaining({ code: 'invalid_json', message: expect.stringContaining(says) as string });

const seed = inject('propertySeed');

test('the strict parser gives the same value as JSON.parse', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json({ maxDepth: 5 }), async (text) => {
      expect(await parse(text)).toEqual(JSON.parse(text));
    }),
    { seed },
  );
});

test('the strict parser refuses every changed text that JSON.parse refuses (BODY-13)', {
  tags: ['BODY-13'],
}, async () => {
  const bent = fc.tuple(fc.json({ maxDepth: 3 }), fc.nat(), fc.string({ maxLength: 2 })).map(([text, at, other]) => {
    const position = at % (text.length + 1);
    return text.slice(0, position) + other + text.slice(position + 1);
  });
  await fc.assert(
    fc.asyncProperty(bent, async (text) => {
      const plain = await outcome(async () => JSON.parse(text) as unknown);
      const strict = await outcome(() => parse(text));
      // The strict parser differs from the plain parser only in the texts that it refuses.
      expect(strict === plain || strict.startsWith('invalid_json')).toBe(true);
      expect(plain === 'SyntaxError' && !strict.startsWith('invalid_json')).toBe(false);
    }),
    { numRuns: 1000, seed },
  );
});

async function outcome(parsed: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await parsed());
  } catch (error) {
    return (error as { code?: string }).code ?? (error as Error).name;
  }
}

test.each([
  ['{"a":1,"a":2}', '"/a"'],
  ['{"a":{"b":[0,{"c":1,"\\u0063":2}]}}', '"/a/b/1/c"'],
  ['{"__proto__":1,"__proto__":2}', '"/__proto__"'],
  ['{"a~/b":1,"a~/b":2}', '"/a~0~1b"'],
])('the strict parser refuses a member that is named twice, with its pointer: %s', async (text, pointer) => {
  await expect(parse(text)).rejects.toEqual(refused(`names a member twice at ${pointer}`));
});

test.each(['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}'])(
  'the strict parser treats %s as an ordinary member name',
  async (text) => {
    const value = (await parse(text)) as object;
    expect(JSON.stringify(value)).toBe(text);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  },
);

test.each([
  [Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), 'byte order mark at byte 0'],
  [Buffer.from([0x22, 0x61, 0xff, 0x22]), 'not UTF-8 at byte 2'],
  [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'not UTF-8 at byte 1'],
  [Buffer.concat([Buffer.from(`"${'é'.repeat(5000)}`), Buffer.from([0xc3])]), 'not UTF-8 at byte 10001'],
  [Buffer.from('{}', 'utf16le'), 'is not JSON at byte 1'],
])('the strict parser refuses bytes that are not plain UTF-8: case %#', async (bytes, says) => {
  await expect(parse(bytes)).rejects.toEqual(refused(says));
});

test.each([
  '{"a":"\\ud800"}',
  '{"a":"\\udc00\\ud800"}',
  '{"a":"\\ud800\\ud800"}',
  '{"a":"\\ud800x"}',
  '{"a":"\\uD800\\n"}',
])('the strict parser refuses the lone surrogate in %s, with its pointer', async (text) => {
  await expect(parse(text)).rejects.toEqual(refused('lone surrogate at "/a"'));
});

test('the strict parser reads a pair of escaped surrogates as one character', async () => {
  expect(await parse('"\\ud83d\\ude00"')).toBe('😀');
});

test.each(['1e400', '-1e400', '9007199254740993', '-9007199254740993', '1'.repeat(400)])(
  'the strict parser refuses the number %s',
  async (text) => {
    await expect(parse(`{"n":${text}}`)).rejects.toEqual(refused('number that a double cannot hold at "/n"'));
  },
);

test.each(['9007199254740991', '-0', '1152921504606846976', '1.0', '0.1', '1E22', '9007199254740993.0'])(
  'the strict parser accepts the number %s',
  async (text) => {
    expect(await parse(text)).toBe(Number(text));
  },
);

test.each([
  ['1e400', Number.MAX_VALUE],
  ['-1e400', -Number.MAX_VALUE],
  ['9007199254740993', 2 ** 53],
  ['18446744073709551615', 2 ** 64],
  ['1'.repeat(400), Number.MAX_VALUE],
  ['0.5', 0.5],
])('the number %.20s is rounded to the nearest double in a member that may be approximate', async (text, value) => {
  const body = Buffer.from(`{"limits":{"__proto__":1,"n":${text}},"other":[1]}`);
  const parsed = (await parseStrictJson(body, { approximateIn: 'limits' })) as { limits: Record<string, unknown> };
  expect(parsed.limits['n']).toBe(value);
  expect(Object.keys(parsed.limits)).toEqual(['__proto__', 'n']);
});

test.each(['{"n":1e400}', '{"other":{"limits":1e400}}', '{"limits":[1e400]}', '{"limits":{"n":[1e400]}}', '1e400'])(
  'a number in any other member must be exact, so %s is refused',
  async (text) => {
    const parsed = parseStrictJson(Buffer.from(text), { approximateIn: 'limits' });
    await expect(parsed).rejects.toEqual(refused('number that a double cannot hold'));
  },
);

test.each([
  ['', 'ends before its value does at byte 0'],
  ['{"a":1', 'ends before its value does at byte 6'],
  ['"abc', 'ends before its value does at byte 4'],
  ['{} {}', 'is not JSON at byte 3'],
  ['[1,]', 'is not JSON at byte 3'],
  ['{"a" 1}', 'is not JSON at byte 5'],
  ['{a:1}', 'is not JSON at byte 1'],
  ['["\t"]', 'is not JSON at byte 2'],
  ['["\\x"]', 'is not JSON at byte 3'],
  ['[01]', 'is not JSON at byte 1'],
  ['[NaN]', 'is not JSON at byte 1'],
  ['[1]]', 'is not JSON at byte 3'],
  ['{]', 'is not JSON at byte 1'],
])('the strict parser refuses %j with the position of the error: %s', async (text, says) => {
  await expect(parse(text)).rejects.toEqual(refused(says));
});

describe('the bounds of the strict parser, which apply before any value is built', { tags: ['Submission-11'] }, () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  const tokens = (count: number) =>
    `[${Array(count - 1)
      .fill('0')
      .join(',')}]`;

  test('values may nest as deep as the bound allows, and no deeper', async () => {
    await expect(parse(nested(jsonDepthMax - 1))).resolves.toBeDefined();
    await expect(parse(nested(jsonDepthMax))).resolves.toBeDefined();
    await expect(parse(nested(jsonDepthMax + 1))).rejects.toEqual(refused('nests deeper'));
  });

  test('a text may have as many tokens as the bound allows, and no more', async () => {
    await expect(parse(tokens(jsonTokensMax - 1))).resolves.toBeDefined();
    await expect(parse(tokens(jsonTokensMax))).resolves.toBeDefined();
    await expect(parse(tokens(jsonTokensMax + 1))).rejects.toEqual(refused('tokens'));
  });

  test('names count as tokens', async () => {
    const members = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(',')}}`;
    await expect(parse(members((jsonTokensMax - 2) / 2))).resolves.toBeDefined();
    await expect(parse(members(jsonTokensMax / 2))).rejects.toEqual(refused('tokens'));
  });

  test('a number may have as many characters as the bound allows, and no more', async () => {
    const digits = (length: number) => `0.${'1'.repeat(length - 2)}`;
    await expect(parse(digits(numberBytesMax))).resolves.toBeDefined();
    await expect(parse(digits(numberBytesMax + 1))).rejects.toEqual(refused('number that is too long'));
  });
});

test('the strict parser reads a string that is longer than one step of the scan, even across an escape', async () => {
  const seam = 1024 * 1024;
  for (const offset of [-14, -13, -12, -7, -6, -2, -1, 0, 1]) {
    const text = 'a'.repeat(seam + offset);
    expect(await parse(`"${text}\\ud83d\\ude00"`)).toBe(`${text}😀`);
  }
  expect(await parse(`${' '.repeat(seam * 2)}[1]`)).toEqual([1]);
});

const own = JSON.parse(
  readFileSync(new URL('../../../../test/vectors/json/texts.json', import.meta.url), 'utf8'),
) as Record<'accepted' | 'refused', { readonly name: string; readonly base64: string }[]>;

describe('BODY-01 the texts of test/vectors', { tags: ['BODY-01'] }, () => {
  test.each(own.accepted)('$name is accepted', async ({ base64 }) => {
    const bytes = Buffer.from(base64, 'base64');
    expect(await parse(bytes)).toEqual(JSON.parse(bytes.toString()));
  });

  test.each(own.refused)('$name is refused', async ({ base64 }) => {
    await expect(parse(Buffer.from(base64, 'base64'))).rejects.toEqual(refused(''));
  });
});

const suite = new URL('../../../../shared/vectors/jsontestsuite/test_parsing/', import.meta.url);
const files = existsSync(suite) ? readdirSync(suite).filter((name) => name.endsWith('.json')) : [];

/** Valid JSON that is still refused, and why. */
const STRICTER = new Map([
  ['y_object_duplicated_key.json', 'names a member twice'],
  ['y_object_duplicated_key_and_value.json', 'names a member twice'],
]);

describe.skipIf(files.length === 0)('JSONTestSuite (skipped if its files are not beside the project)', () => {
  const bytesOf = (name: string) => readFileSync(new URL(encodeURIComponent(name), suite));
  const accepted = files.filter((name) => name.startsWith('y_') && !STRICTER.has(name));

  test.each(accepted)('%s is accepted', async (name) => {
    expect(await parse(bytesOf(name))).toEqual(JSON.parse(bytesOf(name).toString('utf8')));
  });

  test.each([...STRICTER])('%s is refused: it %s', async (name, says) => {
    await expect(parse(bytesOf(name))).rejects.toEqual(refused(says));
  });

  test.each(files.filter((name) => name.startsWith('n_')))('%s is refused', async (name) => {
    await expect(parse(bytesOf(name))).rejects.toEqual(refused(''));
  });

  test('has texts that may be accepted or refused, and each such text always gets the same answer', async () => {
    const open = files.filter((name) => name.startsWith('i_'));
    const taken = [];
    for (const name of open) {
      const result = await outcome(() => parse(bytesOf(name)));
      if (result !== 'invalid_json') taken.push(name);
    }
    expect(taken).toEqual([
      'i_number_double_huge_neg_exp.json',
      'i_number_real_underflow.json',
      'i_number_too_big_pos_int.json',
    ]);
  });
});
