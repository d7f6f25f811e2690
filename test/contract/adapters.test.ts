/** `@vouchbox/adapters`: callers of Piston, Judge0 and SandboxFusion run programs here once they change a URL. */
import { request } from 'node:http';
import { openAdapter } from '@vouchbox/adapters';
import pistonClient from 'piston-client';
import { describe, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { call, jobOf, useAdapter } from '../rig/adapter.ts';
import { Command, vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const { packs } = await shippedPacks(['lua', 'c']);
const rig = useRig({ 'runtime-packs-dir': packs });

const base64 = (text: string) => Buffer.from(text).toString('base64');
const SLOW = 'while True: pass';
const GREEDY = 'x = bytearray(2 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1';

describe('the adapter for callers of Piston', () => {
  const url = useAdapter(rig, 'piston');
  const execute = (body: Record<string, unknown>) => call(`${url()}/api/v2/execute`, { version: '*', ...body });
  const python = (content: string, more = {}) => execute({ language: 'python', files: [{ content }], ...more });

  test('the library piston-client runs a program once its server address is the adapter’s', async () => {
    const client = pistonClient({ server: url() });
    const answer = await client.execute('python', 'import sys\nprint(sys.argv[1:])');
    expect(answer).toMatchObject({ language: 'python', run: { stdout: "['1', '2', '3']\n", code: 0, signal: null } });
  });

  test('the versions are those that the interpreters report, and any requested version is accepted', async () => {
    const { json } = await call(`${url()}/api/v2/runtimes`);
    expect(json).toContainEqual(expect.objectContaining({ language: 'javascript', version: process.versions.node }));
    const answer = await python('import sys; print("%d.%d.%d" % sys.version_info[:3])', { version: '3.10.0' });
    expect(answer.json.run.stdout).toBe(`${answer.json.version}\n`);
  });

  test('/api/v2/piston, the prefix of the public Piston, gives the same answers as /api/v2', async () => {
    const body = { language: 'py', version: '3', files: [{ content: 'print(1)' }] };
    expect((await call(`${url()}/api/v2/piston/execute`, body)).json.run.stdout).toBe('1\n');
  });

  test('output is in the order in which it was written', async () => {
    const code = 'echo a; echo b >&2; echo c; echo d >&2';
    const { json } = await execute({ language: 'sh', files: [{ content: code }], stdin: '' });
    expect([json.run.stdout, json.run.stderr, json.run.output.length]).toEqual(['a\nc\n', 'b\nd\n', 8]);
  });

  test.each([
    ['python', 'main.py', 'import other\nprint(other.x, open("data").read(), __name__)', 'other.py', 'x = 5'],
    [
      'javascript',
      'main.cjs',
      'console.log(require("./other.cjs").x, require("fs").readFileSync("data", "utf8"), "__main__")',
      'other.cjs',
      'exports.x = 5',
    ],
    ['bash', 'main.sh', '. ./other.sh; echo $x $(cat data) __main__', 'other.sh', 'x=5'],
  ])('a program in %s finds its other files beside it', async (language, name, content, other, text) => {
    const files = [
      { name, content },
      { name: other, content: text },
      { name: 'data', content: '6869', encoding: 'hex' },
    ];
    expect((await execute({ language, files })).json.run).toMatchObject({ stderr: '', stdout: '5 hi __main__\n' });
  });

  test.each([
    ['a failure', 'raise SystemExit(3)', {}, { code: 3, signal: null, status: 'RE' }],
    ['a signal', 'import os; os.abort()', {}, { code: null, signal: 'SIGABRT', status: 'SG' }],
    ['a time limit', SLOW, { run_timeout: 500 }, { code: null, signal: 'SIGKILL', status: 'TO' }],
    ['a memory limit', GREEDY, { run_memory_limit: 64 * 2 ** 20 }, { code: null, signal: 'SIGKILL', status: 'SG' }],
  ])('%s has its own outcome', async (_what, code, more, run) => {
    expect((await python(code, more)).json.run).toMatchObject(run);
  });

  test('a limit of 0, or a memory limit of -1, means the service’s limit', async () => {
    expect((await python('print(1)', { run_timeout: 0, run_memory_limit: -1 })).json.run.stdout).toBe('1\n');
  });

  test('the list of packages has the languages that the service can run', async () => {
    const { json } = await call(`${url()}/api/v2/packages`);
    expect(json).toContainEqual({ language: 'lua', language_version: expect.stringMatching(/^5\./), installed: true });
  });

  test.each([
    [
      'an unknown language',
      { language: 'cobol', version: '1', files: [{ content: '' }] },
      /cobol-1 runtime is unknown/,
    ],
    ['no file', { language: 'python', version: '*', files: [] }, /files is required/],
    [
      'a limit above the ceiling',
      { language: 'python', version: '*', files: [{ content: '1' }], run_timeout: 1e9 },
      /^run_timeout cannot exceed the configured limit of 300000$/,
    ],
    [
      'a memory limit above the ceiling',
      { language: 'python', version: '*', files: [{ content: '1' }], run_memory_limit: 2 ** 40 },
      /^run_memory_limit cannot exceed the configured limit of 1073741824$/,
    ],
    [
      'a limit below 0',
      { language: 'python', version: '*', files: [{ content: '1' }], run_timeout: -1 },
      /^run_timeout must be non-negative$/,
    ],
    ['no version', { language: 'python', files: [{ content: '1' }] }, /^version is required as a string$/],
    ['an empty program', { language: 'python', version: '*', files: [{ content: '' }] }, /code/],
  ])('%s is answered with 400 and a message that says what is wrong', async (_what, body, message) => {
    const { status, json } = await call(`${url()}/api/v2/execute`, body);
    expect([status, json.message]).toEqual([400, expect.stringMatching(message)]);
  });
});

describe('the adapter for callers of Judge0', () => {
  const url = useAdapter(rig, 'judge0');
  const submit = (body: Record<string, unknown>, query = 'wait=true') => call(`${url()}/submissions?${query}`, body);
  const python = (source_code: string, more = {}, query?: string) =>
    submit({ language_id: 71, source_code, ...more }, query);

  test('a submission is judged by its expected output, and white space at the ends is ignored', async () => {
    const expected = { stdin: '3 4', expected_output: '7  \n\n' };
    const right = await python('a, b = map(int, input().split()); print(a + b)', expected);
    expect(right.status).toBe(201);
    expect(right.json).toMatchObject({ stdout: '7\n', stderr: null, status: { id: 3, description: 'Accepted' } });
    expect((await python('print(8)', expected)).json.status).toEqual({ id: 4, description: 'Wrong Answer' });
  });

  test.each([
    ['a failure', 'raise SystemExit(3)', {}, 11],
    ['an abort', 'import os; os.abort()', {}, 10],
    ['a segmentation fault', 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)', {}, 7],
    ['a time limit', SLOW, { wall_time_limit: 0.5 }, 5],
    ['a memory limit', GREEDY, { memory_limit: 65_536 }, 12],
  ])('%s has its own status', async (_what, code, more, id) => {
    expect((await python(code, more)).json.status.id).toBe(id);
  });

  test.each([
    ['an expected output', { expected_output: '1' }, 71],
    ['another number of the language', {}, 92],
  ])('a token is a UUID, or a longer text if it must also keep %s', async (_what, more, language_id) => {
    const usual = await python('print(1)', {}, '');
    expect(usual.json.token).toMatch(/^[0-9a-f-]{36}$/);
    const other = await python('print(1)', { ...more, language_id }, '');
    expect(other.json.token.length).toBeGreaterThan(36);
    await rig().alpha.client.waitForResult(jobOf(usual.json.token));
    const read = await call(`${url()}/submissions/${usual.json.token}?fields=token,status_id,language_id`);
    expect(read.json).toEqual({ token: usual.json.token, status_id: 3, language_id: 71 });
    expect((await call(`${url()}/submissions/${other.json.token}?fields=language_id`)).json).toEqual({ language_id });
  });

  test('a token finds the submission, even through another adapter', async () => {
    const { json } = await python('print(input())', { stdin: 'in', expected_output: 'in' }, '');
    await rig().alpha.client.waitForResult(jobOf(json.token));
    await using other = await openAdapter('judge0', {
      client: rig().alpha.client,
      host: '127.0.0.1',
      port: 0,
      key: null,
    });
    const read = await call(`${other.url}/submissions/${json.token}?fields=*`);
    expect(read.json).toMatchObject({
      token: json.token,
      status: { id: 3 },
      language_id: 71,
      stdin: 'in',
      exit_code: 0,
    });
    const few = await call(`${other.url}/submissions/${json.token}?fields=status_id,stdout`);
    expect(few.json).toEqual({ status_id: 3, stdout: 'in\n' });
  });

  test('texts are sent and returned in base64 on request', async () => {
    const body = {
      language_id: 71,
      source_code: base64('print("é" + input())'),
      stdin: base64('ü'),
      expected_output: base64('éü'),
    };
    const { json } = await submit(body, 'base64_encoded=true&wait=true');
    expect(json).toMatchObject({ stdout: base64('éü\n'), status: { id: 3 } });
  });

  test('a batch is answered with a token or an error for each submission, and can be read in one request', async () => {
    const submissions = [
      { language_id: 71, source_code: 'print(1)' },
      { language_id: 9999, source_code: '1' },
      { language_id: 46, source_code: 'echo 2' },
    ];
    const { status, json } = await call(`${url()}/submissions/batch`, { submissions });
    expect([status, json[1]]).toEqual([201, { language_id: ["language with id 9999 doesn't exist"] }]);
    const tokens = [json[0].token, json[2].token];
    for (const token of tokens) await rig().alpha.client.waitForResult(jobOf(token));
    const read = await call(`${url()}/submissions/batch?tokens=${tokens.join(',')}&fields=stdout`);
    expect(read.json).toEqual({ submissions: [{ stdout: '1\n' }, { stdout: '2\n' }] });
    const withUnknown = await call(`${url()}/submissions/batch?tokens=nobody,${tokens[0]}&fields=stdout`);
    expect(withUnknown.json).toEqual({ submissions: [null, { stdout: '1\n' }] });
  });

  test.each([
    [[], 400, { error: 'there should be at least one submission in a batch' }],
    [[{ language_id: 9999, source_code: '1' }], 422, [{ language_id: ["language with id 9999 doesn't exist"] }]],
    [
      Array(21).fill({ language_id: 71, source_code: '1' }),
      400,
      { error: 'number of submissions in a batch should be less than or equal to 20' },
    ],
  ])(
    'a batch that Judge0 would refuse as a whole is answered as Judge0 answers it',
    async (submissions, status, json) => {
      expect(await call(`${url()}/submissions/batch`, { submissions })).toEqual({ status, json });
    },
  );

  test.each([
    [{ source_code: '1' }, { language_id: ["can't be blank"] }],
    [{ language_id: 71 }, { source_code: ["can't be blank"] }],
    [{ language_id: 71, source_code: ' \n' }, { source_code: ["can't be blank"] }],
    [{ language_id: 71, source_code: 5 }, { source_code: ['source_code must be a string'] }],
  ])('an incomplete submission is answered as Judge0 answers it: %j', async (body, json) => {
    expect(await submit(body)).toEqual({ status: 422, json });
  });

  test('a query with unknown fields is refused, and the refusal names the fields', async () => {
    const { status, json } = await python('1', {}, 'wait=true&fields=stdout,shoes,hat');
    expect([status, json]).toEqual([400, { error: 'invalid fields: [shoes, hat]' }]);
  });

  test('requests to list or to remove submissions are refused', async () => {
    expect((await call(`${url()}/submissions`)).status).toBe(403);
    const answer = await fetch(`${url()}/submissions/x`, { method: 'DELETE' });
    expect(answer.status).toBe(403);
  });

  test('arguments are split as a shell splits them', async () => {
    const { json } = await python('import sys; print(sys.argv[1:])', { command_line_arguments: `a "b c" 'd'e` });
    expect(json.stdout).toBe("['a', 'b c', 'de']\n");
  });

  test.each([
    ['callback_url', 'http://a.example'],
    ['additional_files', 'UEsF'],
    ['enable_network', true],
    ['number_of_runs', 3],
  ])('the unsupported member %s is refused by name', async (member, value) => {
    const { status, json } = await python('1', { [member]: value });
    expect([status, json]).toEqual([422, { [member]: ['is not supported here'] }]);
  });

  test.each(['x', 'job_1.71.none', '../job_1.71.none'])('the token %s is answered with 404', async (token) => {
    expect((await call(`${url()}/submissions/${encodeURIComponent(token)}`)).status).toBe(404);
  });

  test('the lists have the languages and statuses that the adapter offers', async () => {
    const languages = await call(`${url()}/languages`);
    expect(languages.json).toContainEqual({ id: 63, name: `JavaScript (Node.js ${process.versions.node})` });
    expect((await call(`${url()}/languages/93`)).json).toMatchObject({ id: 93, is_archived: false });
    expect((await call(`${url()}/languages/all`)).json).toContainEqual({
      id: 63,
      name: `JavaScript (Node.js ${process.versions.node})`,
      is_archived: false,
    });
    expect((await call(`${url()}/statuses`)).json).toHaveLength(14);
    expect((await call(`${url()}/config_info`)).json).toMatchObject({
      cpu_time_limit: 5,
      max_memory_limit: 1024 * 1024,
      enable_callbacks: false,
      max_submission_batch_size: 20,
    });
  });
});

describe('the adapter for callers of SandboxFusion', () => {
  const url = useAdapter(rig, 'sandbox-fusion');
  const run = (body: Record<string, unknown>) => call(`${url()}/run_code`, { language: 'python', ...body });

  test('a program runs beside its files, and its output files can be fetched', async () => {
    const { json } = await run({
      code: 'open("out/b.txt", "w").write(open("in.txt").read() + input())',
      files: { 'in.txt': base64('a'), 'out/keep': base64('') },
      fetch_files: ['out/b.txt'],
      stdin: 'b',
    });
    expect(json).toMatchObject({
      status: 'Success',
      compile_result: null,
      run_result: { status: 'Finished', return_code: 0, stderr: '' },
    });
    expect(json.files).toEqual({ 'out/b.txt': base64('ab') });
  });

  test.each([
    [
      'a failure',
      { code: 'raise SystemExit(2)' },
      { status: 'Failed', run_result: { status: 'Finished', return_code: 2 } },
    ],
    ['a signal', { code: 'import os; os.abort()' }, { status: 'Failed', run_result: { return_code: -6 } }],
    [
      'a time limit',
      { code: SLOW, run_timeout: 0.5 },
      { run_result: { status: 'TimeLimitExceeded', return_code: null } },
    ],
    [
      'more output than is recorded',
      { code: 'print("x" * (2 << 20))' },
      { status: 'Success', message: expect.stringMatching(/the output is cut/) },
    ],
  ])('%s has its own outcome', async (_what, body, wanted) => {
    expect((await run(body)).json).toMatchObject(wanted);
  });

  test.each([
    ['no code', {}, 'code'],
    ['code of another type', { code: 5 }, 'code'],
    ['a limit that is not a number', { code: '1', run_timeout: 'soon' }, 'run_timeout'],
  ])('%s is answered with 422, as SandboxFusion does', async (_what, body, member) => {
    const { status, json } = await run(body);
    expect([status, json.detail[0].loc]).toEqual([422, ['body', member]]);
  });

  test('a language that is not offered is answered with 422 and the name of the member', async () => {
    const { status, json } = await run({ language: 'lean', code: '1' });
    expect([status, json.detail[0].loc]).toEqual([422, ['body', 'language']]);
  });
});

describe('an extra slash in an address', () => {
  const piston = useAdapter(rig, 'piston');
  const judge0 = useAdapter(rig, 'judge0');
  const sandboxFusion = useAdapter(rig, 'sandbox-fusion');

  test.each([
    [
      'Piston',
      () => `${piston()}/api/v2/execute/`,
      { language: 'bash', version: '*', files: [{ content: 'echo 1' }] },
      200,
    ],
    ['Judge0', () => `${judge0()}/submissions/?wait=true`, { language_id: 46, source_code: 'echo 1' }, 201],
    [
      'Judge0, after a base URL that ends with a slash',
      () => `${judge0()}//submissions`,
      { language_id: 46, source_code: '1' },
      201,
    ],
    [
      'Judge0 for a batch',
      () => `${judge0()}/submissions/batch/`,
      { submissions: [{ language_id: 46, source_code: '1' }] },
      201,
    ],
    ['SandboxFusion', () => `${sandboxFusion()}/run_code/`, { language: 'bash', code: 'echo 1' }, 200],
  ])('is accepted, as %s accepts it', async (_what, url, body, status) => {
    expect((await call(url(), body)).status).toBe(status);
  });

  test('is accepted in the address of a list', async () => {
    expect((await call(`${judge0()}/languages/`)).json).toEqual((await call(`${judge0()}/languages`)).json);
    expect((await call(`${piston()}/api/v2/runtimes/`)).status).toBe(200);
  });
});

describe('the callers of an adapter', () => {
  const open = useAdapter(rig, 'piston');
  const closed = useAdapter(rig, 'judge0', 'secret');

  test.each([
    ['a page of another origin', { origin: 'https://evil.example' }],
    ['another name of this host', { host: 'evil.example' }],
  ])('an adapter without a key refuses %s', async (_what, headers) => {
    const status = await new Promise((resolve) =>
      request(`${open()}/api/v2/runtimes`, { headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).end(),
    );
    expect(status).toBe(403);
  });

  test.each([
    ['nothing', {}, 401],
    ['a wrong key', { authorization: 'Bearer secreT' }, 401],
    ['the key', { authorization: 'Bearer secret' }, 200],
    ['the key in the header of Judge0', { 'x-auth-token': 'secret' }, 200],
  ])('an adapter with a key answers %s as expected', async (_what, headers, status) => {
    expect((await call(`${closed()}/statuses`, undefined, headers)).status).toBe(status);
  });

  test('vouchbox adapter refuses to listen beyond this host without --caller-key', async () => {
    const { code, stderr } = await vouchbox(['adapter', 'piston', '--host', '0.0.0.0']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--caller-key')]);
  });

  test('vouchbox adapter serves until it is asked to stop', async () => {
    const env = { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key };
    const command = new Command(['adapter', 'piston', '--port', '0', '--json'], { env });
    const [, url = ''] = await command.shows(/"url": "(\S+)"/);
    const body = { language: 'bash', version: '*', files: [{ content: 'echo up' }] };
    expect((await call(`${url}/api/v2/execute`, body)).json.run.stdout).toBe('up\n');
    command.kill('SIGTERM');
    expect((await command.ended()).code).toBe(0);
  });
});
