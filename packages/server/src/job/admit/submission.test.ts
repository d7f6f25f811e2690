import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../ground/service-error.ts';
import { parseSubmission } from './submission.ts';

const MIB = 1024 * 1024;

function refusalOf(body: unknown): ServiceError {
  try {
    parseSubmission(body);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}

function refused(body: unknown): string {
  const { code, message } = refusalOf(body);
  return `${code}: ${message}`;
}

const python = (members: object) => ({ language: 'python', code: 'x', ...members });
const file = (path: string, content: Uint8Array | string = 'x') => ({
  path,
  content_base64: Buffer.from(content).toString('base64'),
});

describe('a submission', () => {
  test('needs only a language and code, because everything else has a default', () => {
    expect(parseSubmission({ language: 'python', code: 'print(1)' })).toEqual({
      language: 'python',
      code: 'print(1)',
      stdin: null,
      files: [],
      args: [],
      env: {},
      outputs: [],
      runtime: null,
      requirements: { minimum_isolation: 'none' },
      limits: LIMIT_DEFAULTS,
    });
  });

  test('keeps every given member, and keeps NUL in code and stdin', () => {
    const body = {
      language: 'node',
      code: 'a\0b',
      stdin: '\0',
      files: [file('input/a')],
      args: ['x'],
      env: { A: 'y' },
      outputs: ['output/b'],
      runtime: 'system',
      requirements: { minimum_isolation: 'linux-shared-kernel' },
      limits: { wall_seconds: 0.5, cpu_seconds: 1.25, mem_mb: 64, max_pids: 1, max_file_mb: 1 },
    };
    expect(parseSubmission({ ...body, limits: { ...body.limits, allow_network: false } })).toEqual(body);
  });

  test('can be made from a stored specification, and parsing it gives the same specification', () => {
    const spec = parseSubmission(python({}));
    expect([spec.stdin, spec.runtime]).toEqual([null, null]);
    expect(parseSubmission(JSON.parse(JSON.stringify(spec)))).toEqual(spec);
  });

  test.each([
    [null, 'invalid_request: the body must be an object'],
    [[], 'invalid_request: the body must be an object'],
    [{ code: 'x' }, 'invalid_request: /language is required'],
    [{ language: 'python' }, 'invalid_request: /code is required'],
    [{ language: 'python', cod: 'x' }, 'invalid_request: /code is required, and "cod" is not a known member'],
    [
      python({ files: [{ path: 'input/a', content: '' }] }),
      'invalid_request: /files/0/content_base64 is required, and "content" is not a known member',
    ],
    [python({ code: '' }), 'invalid_request: /code must not be empty'],
    [python({ code: null }), 'invalid_request: /code must be a string'],
    [python({ stdin: 5 }), 'invalid_request: /stdin must be a string'],
    [python({ runtime: {} }), 'invalid_request: /runtime must be a string'],
    [python({ language: 1 }), 'invalid_request: /language must be a string'],
    [python({ files: {} }), 'invalid_request: /files must be an array'],
    [python({ files: [{ path: 'input/a' }] }), 'invalid_request: /files/0/content_base64 is required'],
    [python({ outputs: [1] }), 'invalid_request: /outputs/0 must be a string'],
    [python({ tools: [] }), 'invalid_request: /tools must not be empty'],
    [python({ runtime: '' }), 'invalid_request: /runtime must not be empty'],
    [python({ runtime: 'x'.repeat(129) }), 'invalid_request: /runtime must have at most 128 characters'],
    [
      python({ requirements: { minimum_isolation: 'vm' } }),
      'invalid_request: /requirements/minimum_isolation must be one of none, linux-shared-kernel, gvisor-application-kernel, hardware-vm, confidential-vm, wasm-capability',
    ],
  ])('a submission of the wrong form is refused with the pointer to the wrong part: %j', (body, expected) => {
    expect(refused(body)).toBe(expected);
  });

  test.each([
    [python({ extra: 1 }), '/extra'],
    [python({ limits: { disk_mb: 1 } }), '/limits/disk_mb'],
    [python({ requirements: { network: false } }), '/requirements/network'],
    [python({ files: [{ ...file('input/a'), mode: 1 }] }), '/files/0/mode'],
    [python({ 'a/b~c': 1 }), '/a~1b~0c'],
    [JSON.parse('{"language":"python","code":"x","__proto__":{"x":1}}'), '/__proto__'],
    [JSON.parse('{"language":"python","code":"x","limits":{"__proto__":{"x":1}}}'), '/limits/__proto__'],
    [python({ constructor: { prototype: { x: 1 } } }), '/constructor'],
  ])('an unknown member is refused with its pointer: %j', { tags: ['Submission-10'] }, (body, pointer) => {
    expect(refused(body)).toBe(`invalid_request: ${pointer} is not a known member`);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test('an unknown language is refused with its own code', () => {
    expect(refused({ language: 'cobol', code: 'x' })).toBe(
      'unsupported_language: /language "cobol" is not one of python, node, bash, typescript, ruby, php, lua, r, java, c, cpp',
    );
    expect(refused({ language: 'Python', code: 'x' })).toContain('unsupported_language: ');
  });

  test('a submission that requests the network is refused with network_not_allowed', () => {
    expect(refused(python({ limits: { allow_network: true } }))).toBe(
      'network_not_allowed: /limits/allow_network must not be true: egress is never granted',
    );
  });
});

describe('a limit of a submission', () => {
  test.each([
    ['wall_seconds', 0, 'must be greater than 0'],
    ['wall_seconds', -0, 'must be greater than 0'],
    ['cpu_seconds', -1, 'must be greater than 0'],
    ['mem_mb', 0, 'must be greater than 0'],
    ['max_pids', -1, 'must be greater than 0'],
    ['mem_mb', '5', 'must be a finite number'],
    ['wall_seconds', '5', 'must be a finite number'],
    ['wall_seconds', null, 'must be a finite number'],
    ['wall_seconds', Number.NaN, 'must be a finite number'],
    ['cpu_seconds', Number.POSITIVE_INFINITY, 'must be a finite number'],
    ['mem_mb', Number.POSITIVE_INFINITY, 'must be a finite number'],
    ['max_pids', true, 'must be a finite number'],
  ])('the value %s of %s is refused: it %s', { tags: ['Submission-25'] }, (name, value, problem) => {
    expect(refused(python({ limits: { [name]: value } }))).toBe(`invalid_request: /limits/${name} ${problem}`);
  });

  test.each([
    ['wall_seconds', 0.0001],
    ['wall_seconds', 1e308],
    ['mem_mb', 1e308],
    ['mem_mb', 9_007_199_254_740_992],
    ['max_pids', 1],
  ])('the value %s of %s is kept as submitted', (name, value) => {
    expect(parseSubmission(python({ limits: { [name]: value } })).limits).toEqual({ ...LIMIT_DEFAULTS, [name]: value });
  });

  test.each([
    ['mem_mb', 64.5, 64],
    ['max_pids', 1.999, 1],
    ['max_file_mb', 0.5, 1],
    ['mem_mb', Number.MIN_VALUE, 1],
  ])(
    'the value %s of %s is rounded to whole units, and kept as %s',
    { tags: ['Submission-19'] },
    (name, value, kept) => {
      expect(parseSubmission(python({ limits: { [name]: value } })).limits).toEqual({
        ...LIMIT_DEFAULTS,
        [name]: kept,
      });
    },
  );
});

describe('the sizes of a submission', () => {
  test.each(['code', 'stdin'])('%s may have 1 MiB of UTF-8 and not a byte more', (member) => {
    expect(() => parseSubmission(python({ [member]: 'é'.repeat(MIB / 2) }))).not.toThrow();
    expect(refused(python({ [member]: `${'é'.repeat(MIB / 2)}a` }))).toBe(
      `payload_too_large: /${member} is 1048577 bytes after decoding; at most 1048576 are allowed`,
    );
  });

  test('a decoded file may have 2 MiB and not a byte more', () => {
    expect(() => parseSubmission(python({ files: [file('input/a', new Uint8Array(2 * MIB))] }))).not.toThrow();
    expect(refused(python({ files: [file('input/a', new Uint8Array(2 * MIB + 1))] }))).toMatch(
      /^payload_too_large: \/files\/0\/content_base64 is 2097153 bytes/,
    );
  });

  test('all files together may have 4 MiB and not a byte more', () => {
    const two = [file('input/a', new Uint8Array(2 * MIB)), file('input/b', new Uint8Array(2 * MIB))];
    expect(() => parseSubmission(python({ files: two }))).not.toThrow();
    expect(refused(python({ files: [...two, file('input/c', 'x')] }))).toMatch(
      /^payload_too_large: \/files is 4194305 /,
    );
  });

  test.each(['files', 'outputs'])('there may be 32 %s and not one more', (member) => {
    const list = (count: number) =>
      Array.from({ length: count }, (_, index) => (member === 'files' ? file(`input/${index}`) : `output/${index}`));
    expect(() => parseSubmission(python({ [member]: list(32) }))).not.toThrow();
    expect(refused(python({ [member]: list(33) }))).toBe(`invalid_request: /${member} must have at most 32 items`);
  });
});

describe('text of a submission', () => {
  test.each(['eA', 'eA=', 'eB==', 'eA==\n', ' eA==', 'e A==', '-_-_', 'eA==eA==', '%%%%'])(
    'base64 that is not canonical is refused: %j',
    { tags: ['Submission-5'] },
    (content_base64) => {
      expect(refused(python({ files: [{ path: 'input/a', content_base64 }] }))).toMatch(
        /^invalid_request: \/files\/0\/content_base64 is not canonical base64/,
      );
    },
  );

  test('an empty file is accepted', () => {
    expect(parseSubmission(python({ files: [file('input/a', '')] })).files).toHaveLength(1);
  });

  test.each(['code', 'stdin', 'runtime'])('a lone surrogate in %s is refused and never changed silently', (member) => {
    expect(refused(python({ [member]: 'a\ud800b' }))).toMatch(new RegExp(`^invalid_request: /${member} holds a lone`));
  });

  test.each([
    ['/etc/passwd', 'is absolute'],
    ['input/../x', 'has a component . or ..'],
    ['input\\x', 'holds a backslash'],
    ['output/x', 'is not under input/'],
    ['input/', 'has an empty component'],
  ])('an input path %j is refused: it %s', (path, problem) => {
    expect(refused(python({ files: [file('input/ok'), file(path)] }))).toBe(
      `invalid_request: /files/1/path ${problem}`,
    );
  });

  test('output paths follow the same rules as input paths, and none may be repeated', () => {
    expect(refused(python({ outputs: ['input/x'] }))).toBe('invalid_request: /outputs/0 is not under output/');
    expect(refused(python({ outputs: ['output/a', 'output/a'] }))).toBe(
      'invalid_request: /outputs/1 names the same file as an earlier one',
    );
  });

  test('a refusal shortens and escapes the part of the request that it repeats, and stays on one line', () => {
    const nasty = `\u001b[31m\r\n\u202e${'A'.repeat(5000)}`;
    for (const body of [{ language: nasty, code: 'x' }, python({ [nasty]: 1 }), python({ limits: { [nasty]: 1 } })]) {
      const { message } = refusalOf(body);
      expect(message).toMatch(/^[\x20-\x7e]{1,200}$/);
    }
  });
});

describe('arguments and variables', () => {
  const body = (change: object) => ({ language: 'bash', code: 'x', ...change });

  test('are kept unchanged, and are absent if none were given', () => {
    expect(parseSubmission(body({ args: ['', 'é'], env: { A: '' } }))).toMatchObject({
      args: ['', 'é'],
      env: { A: '' },
    });
    expect(parseSubmission(body({}))).toMatchObject({ args: [], env: {} });
  });

  test.each([
    [{ args: ['a\0b'] }, '/args/0 contains a NUL'],
    [{ args: ['ok', '\ud800'] }, '/args/1 holds a lone surrogate'],
    [{ args: ['x'.repeat(4097)] }, '/args/0 is 4097 bytes'],
    [{ args: Array(9).fill('x'.repeat(4000)) }, '/args is 36000 bytes'],
    [{ args: Array(65).fill('x') }, '/args must have at most 64 items'],
    [{ args: [1] }, '/args/0 must be a string'],
    [{ env: { A: 'a\0b' } }, '/env/A contains a NUL'],
    [{ env: { A: 'x'.repeat(4097) } }, '/env/A is 4097 bytes'],
    [{ env: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`A${at}`, ''])) }, '/env '],
    [{ env: { '1A': '' } }, '/env/1A is not a known member'],
    [{ env: { 'A=B': '' } }, 'is not a known member'],
    [JSON.parse('{"env":{"__proto__":"x"}}') as object, 'is not a known member'],
    [{ env: { PATH: '/tmp' } }, '/env/PATH is the same in every cell'],
    [{ env: { HOME: '/' } }, '/env/HOME is the same in every cell'],
    [{ env: { LD_PRELOAD: 'x.so' } }, '/env/LD_PRELOAD is read by a loader'],
    ...[
      'GLIBC_TUNABLES',
      'OPENSSL_CONF',
      'LUA_INIT',
      'LUA_INIT_5_4',
      'RUBYOPT',
      'JAVA_TOOL_OPTIONS',
      'PERLLIB',
      'PHPRC',
      'R_PROFILE',
    ].map((name): [object, string] => [{ env: { [name]: 'x' } }, `/env/${name} is read by a loader`]),
    [{ env: { PYTHONPATH: 'x' } }, '/env/PYTHONPATH is read by a loader'],
    [{ env: { NODE_OPTIONS: '--x' } }, '/env/NODE_OPTIONS is read by a loader'],
    [{ env: { BASH_ENV: 'x' } }, '/env/BASH_ENV is read by a loader'],
  ])('%j are refused: %s', (change, problem) => {
    expect(refused(body(change))).toContain(problem);
  });

  test.each([
    [{ args: Array(64).fill('x') }],
    [{ args: ['x'.repeat(4096)] }],
    [{ env: Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`A${at}`, ''])) }],
    [{ env: { TZ: 'Asia/Tokyo', lower_case: '1' } }],
  ])('are accepted at their bounds: %#', (change) => {
    expect(parseSubmission(body(change))).toMatchObject(change);
  });
});

describe('outputs without names', () => {
  const outputs = (...paths: string[]) => ({ language: 'bash', code: 'x', outputs: paths });

  test.each([
    [['output/**']],
    [['output/plots/**']],
    [['output/a', 'output/**', 'output/plots/**', 'output/plots/b']],
    [['output/*.png']],
  ])('%j are accepted', (paths) => {
    expect(parseSubmission(outputs(...paths)).outputs).toEqual(paths);
  });

  test.each([
    [['/**'], '/outputs/0 '],
    [['input/**'], '/outputs/0 is not under output/'],
    [['output/../**'], '/outputs/0 has a component . or ..'],
    [['output/a//**'], '/outputs/0 has an empty component'],
    [['output/**/a'], '/outputs/0 has ** before its end'],
    [['output/**/**'], '/outputs/0 has ** before its end'],
    [['output/**', 'output/**'], '/outputs/1 is the same pattern'],
  ])('%j are refused: %s', (paths, problem) => {
    expect(refused(outputs(...paths))).toContain(problem);
  });
});
