/**
 * Spec § Job submission, § POST /v1/jobs, § Limits: what is accepted and what is refused. A refusal makes no job.
 */
import { LIMIT_CEILINGS, LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig();
const MIB = 1024 * 1024;
const bash = (members: object = {}) => ({ language: 'bash', code: 'true', ...members });
const file = (path: string, content: string | Uint8Array = 'x') => ({
  path,
  content_base64: Buffer.from(content).toString('base64'),
});

describe('an accepted submission', () => {
  test("is answered with 201, the job's relative addresses, and a Location header", {
    tags: ['Bodies-12', 'Submit-1e', 'Submit-1f'],
  }, async () => {
    const { status, headers, json } = await rig().post(bash());
    expect(status).toBe(201);
    expect(json.job_id).toMatch(/^job_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(json.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(json).toEqual({
      job_id: json.job_id,
      status: 'queued',
      created_at: json.created_at,
      stream_url: `/v1/jobs/${json.job_id}/stream`,
      history_url: `/v1/jobs/${json.job_id}/replay`,
      result_url: `/v1/jobs/${json.job_id}/result`,
    });
    expect(headers.get('location')).toBe(`/v1/jobs/${json.job_id}`);
    expect(headers.get('idempotency-replayed')).toBe('false');
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  });

  test.each(['python', 'node', 'bash'])('may be in %s', { tags: ['What-2', 'Submission-1'] }, async (language) => {
    const { result } = await rig().run({ language, code: language === 'node' ? 'console.log(1)' : 'echo=1' });
    expect(result.status).toBe('succeeded');
  });

  test('may demand that certain limits are enforced, and the detail lists each of these limits once', async () => {
    const { status, json } = await rig().post(bash({ requirements: { enforced: ['max_pids', 'mem_mb', 'mem_mb'] } }));
    expect(status).toBe(201);
    const { requested_spec } = await rig().alpha.client.detail(json.job_id);
    expect(requested_spec.requirements).toEqual({ minimum_isolation: 'none', enforced: ['mem_mb', 'max_pids'] });
    const { enforced } = await rig().alpha.client.capabilities();
    expect(enforced).toEqual(expect.arrayContaining(['mem_mb', 'max_pids']));
  });

  test('is returned as requested_spec, with the default for everything that it left out', {
    tags: ['What-1a', 'Submission-9', 'Submission-21', 'Submission-22', 'Submission-26', 'Detail-14'],
  }, async () => {
    const { detail } = await rig().run(bash());
    expect(detail.requested_spec).toEqual({
      language: 'bash',
      code: 'true',
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

  test('gets the ceiling for each limit that exceeds its ceiling', {
    tags: ['What-3', 'Submission-23', 'Submission-24', 'Limits-22'],
  }, async () => {
    const { detail } = await rig().run(
      bash({ limits: { wall_seconds: 1e9, cpu_seconds: 1e9, mem_mb: 1e9, max_pids: 1e9, max_file_mb: 1e9 } }),
    );
    expect(detail.requested_spec.limits).toEqual(LIMIT_CEILINGS);
    expect(detail.effective_spec?.limits).toEqual(LIMIT_CEILINGS);
  });

  test('keeps limits below the ceilings, including fractions of wall and CPU seconds', {
    tags: ['Submission-19'],
  }, async () => {
    const limits = { wall_seconds: 2.5, cpu_seconds: 1.25, mem_mb: 64, max_pids: 16, max_file_mb: 1 };
    const { detail } = await rig().run(bash({ limits: { ...limits, allow_network: false } }));
    expect(detail.requested_spec.limits).toEqual(limits);
  });

  test('may demand the isolation class of this service, or a weaker one', {
    tags: ['Submission-8', 'Submission-28'],
  }, async () => {
    for (const minimum_isolation of ['none', 'linux-shared-kernel']) {
      expect((await rig().post(bash({ requirements: { minimum_isolation } }))).status).toBe(201);
    }
  });

  test('may name a runtime pack that the capabilities list', { tags: ['Submission-7', 'Bodies-7'] }, async () => {
    const { runtime_packs } = await rig().alpha.client.capabilities();
    expect(runtime_packs.map(({ name }) => name)).toContain('system');
    const { result, detail } = await rig().run(bash({ runtime: 'system' }));
    expect(result.status).toBe('succeeded');
    expect(detail.runtime).toBe('system');
    expect(detail.receipt?.runtime_pack?.name).toBe('system');
  });

  test('may be JSON with escapes, white space, and members in any order', async () => {
    const { status, json } = await rig().post(' {\n"code":"echo \\u00e9\\ud83d\\ude00", "language" : "bash" }\t');
    expect(status).toBe(201);
    expect((await rig().ended(json.job_id)).result.stdout).toBe('é😀\n');
  });
});

describe('a refused submission', () => {
  /** Expects that the submission is refused and makes no job. */
  async function expectRefusal(body: unknown, status: number, code: string, pointer = ''): Promise<void> {
    const before = await rig().jobCount();
    const answer = await rig().post(body);
    expect(await rig().jobCount()).toBe(before);
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    expect(answer.json.error.retryable).toBe(false);
    expect(answer.json.error.message).toContain(pointer);
  }

  test.each<[string, unknown, string]>([
    ['no language', { code: 'true' }, '/language'],
    ['no code', { language: 'bash' }, '/code'],
    ['empty code', bash({ code: '' }), '/code'],
    ['code that is not a string', bash({ code: 1 }), '/code'],
    ['a language that is not a string', bash({ language: null }), '/language'],
    ['stdin that is not a string', bash({ stdin: [] }), '/stdin'],
    ['an unknown member', bash({ network: true }), '/network'],
    ['an unknown limit', bash({ limits: { disk_mb: 1 } }), '/limits/disk_mb'],
    ['an unknown requirement', bash({ requirements: { seccomp: true } }), '/requirements/seccomp'],
    ['an unknown member of a file', bash({ files: [{ ...file('input/a'), mode: 7 }] }), '/files/0/mode'],
    ['__proto__ as a member', '{"language":"bash","code":"true","__proto__":{"x":1}}', '/__proto__'],
    ['a limit of zero', bash({ limits: { wall_seconds: 0 } }), '/limits/wall_seconds'],
    ['a negative limit', bash({ limits: { cpu_seconds: -1 } }), '/limits/cpu_seconds'],
    ['a limit that is not a number', bash({ limits: { mem_mb: '64' } }), '/limits/mem_mb'],
    ['an unknown class', bash({ requirements: { minimum_isolation: 'strong' } }), '/requirements/minimum_isolation'],
    ['malformed base64', bash({ files: [{ path: 'input/a', content_base64: '*' }] }), '/files/0/content_base64'],
    [
      'base64 without its padding',
      bash({ files: [{ path: 'input/a', content_base64: 'eA' }] }),
      '/files/0/content_base64',
    ],
    ['base64url', bash({ files: [{ path: 'input/a', content_base64: '_-8=' }] }), '/files/0/content_base64'],
    ['an absolute input', bash({ files: [file('/etc/passwd')] }), '/files/0/path'],
    ['an input outside input/', bash({ files: [file('output/a')] }), '/files/0/path'],
    ['an input that is the directory', bash({ files: [file('input/')] }), '/files/0/path'],
    ['an input that traverses', bash({ files: [file('input/../a')] }), '/files/0/path'],
    ['an input with a dot component', bash({ files: [file('input/./a')] }), '/files/0/path'],
    ['an input with a backslash', bash({ files: [file('input\\a')] }), '/files/0/path'],
    ['an input with a NUL', bash({ files: [file('input/a\0')] }), '/files/0/path'],
    ['the same input twice', bash({ files: [file('input/a'), file('input/a')] }), '/files/1/path'],
    ['an input below another', bash({ files: [file('input/a'), file('input/a/b')] }), '/files/1/path'],
    ['an absolute output', bash({ outputs: ['/output/a'] }), '/outputs/0'],
    ['an output outside output/', bash({ outputs: ['output/a', 'input/a'] }), '/outputs/1'],
    ['an output that traverses', bash({ outputs: ['output/../../etc/passwd'] }), '/outputs/0'],
    ['an output with a backslash', bash({ outputs: ['output\\..\\a'] }), '/outputs/0'],
    ['the same output twice', bash({ outputs: ['output/a', 'output/a'] }), '/outputs/1'],
    ['an array as the body', [bash()], ''],
    ['null as the body', 'null', ''],
  ])(
    'names %s by its JSON pointer',
    { tags: ['Submission-2', 'Submission-10', 'Submission-31', 'Errors-5'] },
    (_name, body, pointer) => expectRefusal(body, 400, 'invalid_request', pointer),
  );

  test.each<[string, string | Uint8Array]>([
    ['no JSON', 'language=bash'],
    ['an empty body', ''],
    ['a second value', '{"language":"bash","code":"true"}{}'],
    ['a trailing comma', '{"language":"bash","code":"true",}'],
    ['a member named twice', '{"language":"bash","code":"true","code":"false"}'],
    ['a member named twice, once with escapes', '{"language":"bash","code":"true","c\\u006fde":"false"}'],
    ['a lone surrogate', '{"language":"bash","code":"\\ud800"}'],
    ['bytes that are not UTF-8', Buffer.from('{"language":"bash","code":"\xff"}', 'latin1')],
    ['a byte order mark', '\ufeff{"language":"bash","code":"true"}'],
    ['UTF-16', Buffer.from('{"language":"bash","code":"true"}', 'utf16le')],
    ['a control character in a string', '{"language":"bash","code":"a\nb"}'],
    ['NaN', '{"language":"bash","code":"true","limits":{"mem_mb":NaN}}'],
    ['a number that no double holds', '{"language":"bash","code":"true","files":1e400}'],
    ['nesting deeper than 32', `${'['.repeat(33)}${']'.repeat(33)}`],
    ['more than 10,000 tokens', `[${'0,'.repeat(10_000)}0]`],
  ])('is refused for a body with %s', { tags: ['Submission-11', 'Errors-5'] }, (_name, body) =>
    expectRefusal(body, 400, 'invalid_json'),
  );

  test('is refused for an unknown language, and for a known language in other letter case', {
    tags: ['Submission-13', 'Submit-5a', 'Errors-6'],
  }, async () => {
    await expectRefusal(bash({ language: 'cobol' }), 400, 'unsupported_language', '/language');
    await expectRefusal(bash({ language: 'Bash' }), 400, 'unsupported_language', '/language');
    await expectRefusal(bash({ language: '__proto__' }), 400, 'unsupported_language', '/language');
  });

  test('is refused for a runtime pack that the service lacks', { tags: ['Submit-5', 'Errors-13'] }, () =>
    expectRefusal(bash({ runtime: 'python-data-9' }), 422, 'runtime_unavailable', '/runtime'),
  );

  test('is refused for requesting the network', { tags: ['Submission-20', 'Submit-4', 'Limits-23'] }, () =>
    expectRefusal(bash({ limits: { allow_network: true } }), 400, 'network_not_allowed', '/limits/allow_network'),
  );

  test.each(['gvisor-application-kernel', 'hardware-vm', 'confidential-vm', 'wasm-capability'])(
    'is refused for demanding %s from a weaker service',
    { tags: ['Submit-3', 'Submit-3b', 'Errors-14'] },
    (minimum_isolation) =>
      expectRefusal(bash({ requirements: { minimum_isolation } }), 422, 'minimum_isolation_unsatisfied'),
  );

  test('is refused if it demands that an unknown limit be enforced', () =>
    expectRefusal(bash({ requirements: { enforced: ['luck'] } }), 400, 'invalid_request', '/requirements/enforced/0'));

  test('is refused for a content type that is not plain JSON, and for a compressed body', {
    tags: ['What-6'],
  }, async () => {
    const body = JSON.stringify(bash());
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-encoding': 'gzip' },
    ]) {
      const { status, json } = await rig().post(body, { headers });
      expect([headers, status, json.error.code]).toEqual([headers, 415, 'unsupported_media_type']);
    }
  });
});

describe('sizes are limited in bytes after decoding', () => {
  const text = (bytes: number) => `#${'x'.repeat(bytes - 1)}`;
  const statusOf = async (body: unknown) => (await rig().post(body)).status;

  test('code may have 1 MiB and no byte more, however it is escaped', {
    tags: ['Submission-3', 'Limits-1', 'BODY-07'],
  }, async () => {
    expect(await statusOf(bash({ code: text(MIB) }))).toBe(201);
    expect(await statusOf(bash({ code: text(MIB + 1) }))).toBe(413);
    const escaped = (letters: number) => `{"language":"bash","code":"#${'\\u0078'.repeat(letters)}"}`;
    expect(await statusOf(escaped(MIB - 1))).toBe(201);
    expect(await statusOf(escaped(MIB))).toBe(413);
    expect(await statusOf(bash({ code: `#${'é'.repeat(MIB / 2)}` }))).toBe(413);
  });

  test('stdin may have 1 MiB and no byte more', { tags: ['Submission-4', 'Limits-2'] }, async () => {
    expect(await statusOf(bash({ stdin: text(MIB) }))).toBe(201);
    expect(await statusOf(bash({ stdin: text(MIB + 1) }))).toBe(413);
  });

  test('a file may have 2 MiB and no byte more', { tags: ['Limits-4'] }, async () => {
    expect(await statusOf(bash({ files: [file('input/a', Buffer.alloc(2 * MIB))] }))).toBe(201);
    expect(await statusOf(bash({ files: [file('input/a', Buffer.alloc(2 * MIB + 1))] }))).toBe(413);
  });

  test('all files together may have 4 MiB and no byte more', { tags: ['Limits-4'] }, async () => {
    const two = [file('input/a', Buffer.alloc(2 * MIB)), file('input/b', Buffer.alloc(2 * MIB))];
    expect(await statusOf(bash({ files: two }))).toBe(201);
    expect(await statusOf(bash({ files: [...two, file('input/c', 'x')] }))).toBe(413);
  });

  test('a submission may have 32 files and 32 outputs, and no more', { tags: ['Limits-3', 'Limits-5'] }, async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => String(index));
    expect(await statusOf(bash({ files: names(32).map((name) => file(`input/${name}`)) }))).toBe(201);
    expect(await statusOf(bash({ files: names(33).map((name) => file(`input/${name}`)) }))).toBe(400);
    expect(await statusOf(bash({ outputs: names(32).map((name) => `output/${name}`) }))).toBe(201);
    expect(await statusOf(bash({ outputs: names(33).map((name) => `output/${name}`) }))).toBe(400);
  });

  test('the body may have 24 MiB; a larger body is refused because of its Content-Length, before it is read', {
    tags: ['Limits-7', 'BODY-08'],
  }, async () => {
    const padded = (bytes: number) => {
      const body = JSON.stringify(bash());
      return body + ' '.repeat(bytes - body.length);
    };
    expect(await statusOf(padded(24 * MIB))).toBe(201);
    const [answer] = await rig().raw(
      `POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rig().alpha.key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${24 * MIB + 1}\r\n\r\n{`,
    );
    expect(answer?.status).toBe(413);
    expect(JSON.parse(answer?.body ?? '').error.code).toBe('payload_too_large');
  });
});
