/**
 * Spec § Job submission, § Limits: hostile bodies. The service refuses a body that two parsers could read differently,
 * keeps an accepted body byte for byte, and repeats only short, harmless text from a body. Rows BODY-01 to BODY-13.
 */
import { readFileSync } from 'node:fs';
import { LIMIT_CEILINGS, LIMIT_NAMES } from '@vouchbox/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Answer, useRig } from '../rig/rig.ts';
import { loadSize, loadTimeout } from './load-size.ts';

const rig = useRig({
  provider: 'subprocess',
  concurrency: '1',
  'queue-max': '100000',
  'tenant-queue-max': '100000',
  'drain-seconds': '0',
});
const MIB = 1024 * 1024;
const BODY = '{"language":"bash","code":"true"}';

function codeOf({ status, json }: Answer): string {
  return status === 201 ? 'created' : `${status} ${json.error.code as string}`;
}

const own = JSON.parse(readFileSync(new URL('../vectors/json/texts.json', import.meta.url), 'utf8')) as Record<
  'accepted' | 'refused',
  { readonly name: string; readonly base64: string }[]
>;

describe('BODY-01 a text as a body', { tags: ['BODY-01'] }, () => {
  const codesOf = async (texts: typeof own.accepted) => {
    const codes: [string, string][] = [];
    for (const { name, base64 } of texts) codes.push([name, codeOf(await rig().post(Buffer.from(base64, 'base64')))]);
    return codes;
  };

  test('a text that is JSON is refused for its content, with invalid_request', async () => {
    expect(await codesOf(own.accepted)).toEqual(own.accepted.map(({ name }) => [name, '400 invalid_request']));
  });

  test('a text that is not JSON is refused with invalid_json', async () => {
    expect(await codesOf(own.refused)).toEqual(own.refused.map(({ name }) => [name, '400 invalid_json']));
  });
});

test.each([
  ['a member', '{"language":"bash","code":"true","language":"bash"}', '/language'],
  ['a member that differs', '{"language":"bash","code":"true","language":"python"}', '/language'],
  ['a limit', '{"language":"bash","code":"true","limits":{"mem_mb":1,"mem_mb":2}}', '/limits/mem_mb'],
  [
    'a member of a file',
    '{"language":"bash","code":"true","files":[{"path":"input/a","path":"input/b","content_base64":""}]}',
    '/files/0/path',
  ],
  ['a member spelled with an escape', '{"language":"bash","code":"true","c\\u006fde":"false"}', '/code'],
])(
  'BODY-02 %s that is named twice is refused with its pointer',
  { tags: ['BODY-02'] },
  async (_name, body, pointer) => {
    const answer = await rig().post(body);
    expect(codeOf(answer)).toBe('400 invalid_json');
    expect(answer.json.error.message).toContain(`"${pointer}"`);
  },
);

describe('BODY-03 names of inherited properties', { tags: ['BODY-03'] }, () => {
  const places = {
    '': (member: string) => `{"language":"bash","code":"true",${member}}`,
    '/limits': (member: string) => `{"language":"bash","code":"true","limits":{${member}}}`,
    '/requirements': (member: string) => `{"language":"bash","code":"true","requirements":{${member}}}`,
    '/files/0': (member: string) =>
      `{"language":"bash","code":"true","files":[{"path":"input/a","content_base64":"",${member}}]}`,
  };
  const members = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__'];

  test.each(Object.entries(places))(
    'are refused as unknown members at "%s", and pollute no prototype',
    async (pointer, bodyWith) => {
      for (const name of members) {
        for (const value of ['{"polluted":1}', '{"prototype":{"polluted":1}}', '1', 'null']) {
          const answer = await rig().post(bodyWith(`"${name}":${value}`));
          expect([name, value, codeOf(answer)]).toEqual([name, value, '400 invalid_request']);
          expect(answer.json.error.message).toContain(`${pointer}/${name}`);
        }
      }
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
      expect(codeOf(await rig().post(BODY))).toBe('created');
    },
  );

  test('are ordinary values where any value is allowed', async () => {
    for (const text of members) {
      expect(codeOf(await rig().post({ language: text, code: 'true' }))).toBe('400 unsupported_language');
      expect(codeOf(await rig().post({ language: 'bash', code: 'true', runtime: text }))).toBe(
        '422 runtime_unavailable',
      );
      const files_ = [{ path: `input/${text}`, content_base64: 'YQ==' }];
      expect(
        codeOf(await rig().post({ language: 'bash', code: 'true', files: files_, outputs: [`output/${text}`] })),
      ).toBe('created');
    }
  });
});

describe('BODY-05 text that is not plain UTF-8', { tags: ['BODY-05'] }, () => {
  test.each([
    ['code', '{"language":"bash","code":"TEXT"}'],
    ['stdin', '{"language":"bash","code":"true","stdin":"TEXT"}'],
    ['an input path', '{"language":"bash","code":"true","files":[{"path":"input/TEXT","content_base64":""}]}'],
    ['an output path', '{"language":"bash","code":"true","outputs":["output/TEXT"]}'],
    ['a name', '{"language":"bash","code":"true","TEXT":1}'],
  ])('is refused in %s, not silently replaced', async (_name, body) => {
    const [before = '', after = ''] = body.split('TEXT');
    const bytes = (middle: number[]) => Buffer.concat([Buffer.from(before), Buffer.from(middle), Buffer.from(after)]);
    const bad = [
      bytes([0xff]),
      bytes([0xc0, 0xaf]),
      bytes([0xe2, 0x82]),
      bytes([0xed, 0xa0, 0x80]),
      bytes([0xf4, 0x90, 0x80, 0x80]),
      ...['\\ud800', '\\udc00', '\\ud800\\ud800', '\\udc00\\ud800', '\\ud83d x'].map((text) =>
        Buffer.from(before + text + after),
      ),
    ];
    for (const each of bad)
      expect([each.toString('hex'), codeOf(await rig().post(new Uint8Array(each)))]).toEqual([
        each.toString('hex'),
        '400 invalid_json',
      ]);
  });

  test.each([
    ['a byte order mark', Buffer.from(`\ufeff${BODY}`)],
    ['UTF-16', Buffer.from(BODY, 'utf16le')],
    ['UTF-16 with its mark', Buffer.from(`\ufeff${BODY}`, 'utf16le')],
    ['UTF-32', Buffer.from([...Buffer.from(BODY)].flatMap((byte) => [byte, 0, 0, 0]))],
  ])('is refused as the encoding of a whole body: %s', async (_name, bytes) => {
    expect(codeOf(await rig().post(new Uint8Array(bytes)))).toBe('400 invalid_json');
  });
});

describe('BODY-06 a number', { tags: ['BODY-06'] }, () => {
  const members = (names: readonly string[], number: string) =>
    `{"language":"bash","code":"true","limits":{${names.map((name) => `"${name}":${number}`).join(',')}}}`;
  const withLimit = (name: string, number: string) => members([name], number);

  test.each([
    ['mem_mb', '-1e400', '400 invalid_request'],
    ['mem_mb', '-9007199254740993', '400 invalid_request'],
    ['max_pids', '1'.repeat(1025), '400 invalid_json'],
    ['mem_mb', 'NaN', '400 invalid_json'],
    ['mem_mb', 'Infinity', '400 invalid_json'],
    ['mem_mb', '+1', '400 invalid_json'],
    ['mem_mb', '01', '400 invalid_json'],
    ['mem_mb', '.5', '400 invalid_json'],
    ['mem_mb', '1.', '400 invalid_json'],
    ['mem_mb', '0x10', '400 invalid_json'],
    ['mem_mb', '-0', '400 invalid_request'],
    ['wall_seconds', '-0.0', '400 invalid_request'],
    ['wall_seconds', '1e-400', '400 invalid_request'],
  ])('a number for %s that is %.20s is refused with %s', async (name, number, code) => {
    expect(codeOf(await rig().post(withLimit(name, number)))).toBe(code);
  });

  test.each([
    ['mem_mb', '64.0', 64],
    ['mem_mb', '6.4e1', 64],
    ['mem_mb', '9007199254740991', 1024],
    ['wall_seconds', '0.1', 0.1],
    ['wall_seconds', '1e308', 300],
    ['wall_seconds', '0.30000000000000004', 0.30000000000000004],
    ['max_pids', '1E1', 10],
    ['mem_mb', '64.00001', 64],
    ['max_pids', '1.5', 1],
    ['max_file_mb', '0.5', 1],
  ])('a number for %s that is written %s is kept as %s', async (name, number, kept) => {
    const { json } = await rig().post(withLimit(name, number));
    const { requested_spec } = await rig().alpha.client.detail(json.job_id);
    expect((requested_spec.limits as Record<string, number>)[name]).toBe(kept);
  });

  test.each(['1e400', '9007199254740993', '9223372036854775807', '18446744073709551615', '1e25', '1'.repeat(400)])(
    'the number %.25s is clamped in every limit',
    { tags: ['Submission-24', 'Limits-22'] },
    async (number) => {
      const { json } = await rig().post(members(LIMIT_NAMES, number));
      const { requested_spec } = await rig().alpha.client.detail(json.job_id);
      expect(requested_spec.limits).toEqual(LIMIT_CEILINGS);
    },
  );

  test('a number that no double can represent is refused in members other than limits', async () => {
    const bodies = ['{"language":"bash","code":1e400}', '{"language":"bash","code":"true","files":[9007199254740993]}'];
    for (const body of bodies) expect(codeOf(await rig().post(body))).toBe('400 invalid_json');
  });
});

describe('BODY-07 the limits on source and stdin count the decoded bytes, however they are escaped:', {
  tags: ['BODY-07'],
}, () => {
  /** A text of this many ASCII letters, each spelled with six bytes. */
  const escaped = (letters: number) => '\\u0061'.repeat(letters);

  test.each([
    ['code', (text: string) => `{"language":"bash","code":"${text}"}`],
    ['stdin', (text: string) => `{"language":"bash","code":"true","stdin":"${text}"}`],
  ])('the member %s in six-byte escapes', async (_name, bodyWith) => {
    expect(codeOf(await rig().post(bodyWith(escaped(MIB - 1))))).toBe('created');
    expect(codeOf(await rig().post(bodyWith(escaped(MIB))))).toBe('created');
    expect(codeOf(await rig().post(bodyWith(escaped(MIB + 1))))).toBe('413 payload_too_large');
  });

  test('characters count as their bytes in UTF-8, surrogate pairs as four', async () => {
    const pairs = (count: number) => `{"language":"bash","code":"${'\\ud83d\\ude00'.repeat(count)}"}`;
    expect(codeOf(await rig().post(pairs(MIB / 4)))).toBe('created');
    expect(codeOf(await rig().post(pairs(MIB / 4 + 1)))).toBe('413 payload_too_large');
  });
});

describe('BODY-10 NUL', { tags: ['BODY-10'] }, () => {
  test('is passed on unchanged in stdin and in files', async () => {
    const code = 'import sys\nprint(sys.stdin.buffer.read().hex(), open("input/a", "rb").read().hex())';
    const content_base64 = Buffer.from('\0f\0').toString('base64');
    const { result, detail } = await rig().run({
      language: 'python',
      code,
      stdin: 'a\0b\0',
      files: [{ path: 'input/a', content_base64 }],
    });
    expect(result.stdout).toBe('61006200 006600\n');
    expect(detail.requested_spec.stdin).toBe('a\0b\0');
  });

  test('is passed on unchanged in code, and the language decides what it means', async () => {
    const { result, detail } = await rig().run({ language: 'node', code: 'console.log("a\0b".length)' });
    expect([result.stdout, detail.requested_spec.code]).toEqual(['3\n', 'console.log("a\0b".length)']);
  });

  test.each([
    ['an input path', { files: [{ path: 'input/a\0', content_base64: '' }] }],
    ['an output path', { outputs: ['output/a\0b'] }],
    ['a class', { requirements: { minimum_isolation: 'none\0' } }],
    ['a member’s name', { 'stdin\0': '' }],
  ])('is refused in %s', async (_name, members) => {
    expect(codeOf(await rig().post({ language: 'bash', code: 'true', ...members }))).toBe('400 invalid_request');
  });

  test('is refused in a language and in a pack’s name', async () => {
    expect(codeOf(await rig().post({ language: 'bash\0', code: 'true' }))).toBe('400 unsupported_language');
    expect(codeOf(await rig().post({ language: 'bash', code: 'true', runtime: 'system\0' }))).toBe(
      '422 runtime_unavailable',
    );
  });
});

describe('BODY-11 the part of a request that a refusal repeats', { tags: ['BODY-11'] }, () => {
  const nasty = `\u001b[2J\r\nSet-Cookie: a=b\r\n\u202e\u2028<script>alert(1)</script>${'x'.repeat(5000)}`;

  test.each<[string, unknown]>([
    ['a language', { language: nasty, code: 'true' }],
    ['a member', { language: 'bash', code: 'true', [nasty]: 1 }],
    ['a limit', { language: 'bash', code: 'true', limits: { [nasty]: 1 } }],
    ['a pack', { language: 'bash', code: 'true', runtime: nasty.slice(0, 128) }],
    ['a path', { language: 'bash', code: 'true', outputs: [`output/${nasty}`] }],
    ['a name that is given twice', `{${JSON.stringify(nasty)}:1,${JSON.stringify(nasty)}:2}`],
  ])('the part for %s is short, on one line and harmless everywhere', async (_name, body) => {
    const { status, json, headers } = await rig().post(body);
    expect([400, 422]).toContain(status);
    expect(json.error.message).toMatch(/^[\x20-\x7e…]{1,200}$/);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('set-cookie')).toBeNull();
  });
});

describe('BODY-13 bodies with random changes', { tags: ['BODY-13'] }, () => {
  const whole = {
    language: 'bash',
    code: 'true # é😀',
    stdin: 'a\nb',
    files: [{ path: 'input/a', content_base64: 'YWJj' }],
    outputs: ['output/a'],
    requirements: { minimum_isolation: 'none' },
    limits: { wall_seconds: 2.5, mem_mb: 64 },
  };
  const origin = Buffer.from(JSON.stringify(whole));
  const change = fc.tuple(fc.nat(origin.length - 1), fc.constantFrom('set', 'drop', 'insert', 'repeat'), fc.nat(255));
  const mutated = fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
    let bytes = Buffer.from(origin);
    for (const [at, how, byte] of changes) {
      const from = at % Math.max(1, bytes.length);
      const [head, tail] = [bytes.subarray(0, from), bytes.subarray(from)];
      if (how === 'set') bytes = Buffer.concat([head, Buffer.from([byte]), tail.subarray(1)]);
      else if (how === 'drop') bytes = Buffer.concat([head, tail.subarray(1 + (byte % 8))]);
      else if (how === 'insert') bytes = Buffer.concat([head, Buffer.from([byte]), tail]);
      else bytes = Buffer.concat([head, tail.subarray(0, byte), tail]);
    }
    return new Uint8Array(bytes);
  });

  test('are accepted or refused, and never answered 500', loadTimeout, async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(mutated, async (bytes) => {
        const answer = await rig().post(bytes);
        seen.add(codeOf(answer));
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: loadSize({ small: 500, full: 1_000_000 }), seed: 20_260_103 },
    );
    expect([...seen]).toEqual(expect.arrayContaining(['created', '400 invalid_json', '400 invalid_request']));
    expect(codeOf(await rig().post(BODY))).toBe('created');
  });
});
