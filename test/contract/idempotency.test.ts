/** Spec § POST /v1/jobs 1, 2, 7: one key, one job. */
import { LIMIT_NAMES } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { Rig, useRig } from '../rig/rig.ts';

const rig = useRig();
const spec = { language: 'bash', code: 'echo once' };
let keys = 0;
const freshKey = () => `key-${++keys}`;
const post = (body: unknown, key: string, tenant = rig().alpha.key) =>
  rig().post(body, { key: tenant, headers: { 'idempotency-key': key } });

test('a submission that repeats an idempotency key and its specification returns the first job and runs nothing (IDEM-09)', {
  tags: ['Submit-1', 'IDEM-09'],
}, async () => {
  const key = freshKey();
  const first = await post(spec, key);
  expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, 'false']);
  await rig().ended(first.json.job_id);
  const before = await rig().jobCount();
  const second = await post(spec, key);
  expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(second.json).toEqual(first.json);
  expect(second.headers.get('location')).toBe(first.headers.get('location'));
  expect(await rig().jobCount()).toBe(before);
});

test('without an idempotency key every submission is a new job', async () => {
  const [first, second] = await Promise.all([rig().post(spec), rig().post(spec)]);
  expect(first.json.job_id).not.toBe(second.json.job_id);
});

test('many concurrent submissions with one idempotency key make one job; only one answer says that it is new', async () => {
  const key = freshKey();
  const before = await rig().jobCount();
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(spec, key)));
  expect(new Set(answers.map(({ json }) => json.job_id)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'false')).toHaveLength(1);
  expect(await rig().jobCount()).toBe(before + 1);
});

describe('a specification that differs only in its spelling (IDEM-03)', { tags: ['Submit-1', 'IDEM-03'] }, () => {
  test.each([
    ['in another order and with white space', '{ "code" : "echo once",\n"language":"bash" }'],
    ['with escapes', '{"language":"\\u0062ash","code":"echo\\u0020once"}'],
    [
      'with its defaults written out',
      '{"language":"bash","code":"echo once","files":[],"outputs":[],"limits":{"wall_seconds":10,"cpu_seconds":5,"mem_mb":256,"max_pids":64,"max_file_mb":16,"allow_network":false},"requirements":{"minimum_isolation":"none"}}',
    ],
    [
      'with numbers spelled otherwise',
      '{"language":"bash","code":"echo once","limits":{"wall_seconds":1.0e1,"mem_mb":256.0}}',
    ],
    ['with empty members', '{"language":"bash","code":"echo once","limits":{},"requirements":{}}'],
  ])('%s returns the first job', async (_name, body) => {
    const key = freshKey();
    const first = await post(spec, key);
    const second = await post(body, key);
    expect(second.json.job_id).toBe(first.json.job_id);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });
});

describe('another specification under the same key is refused and makes no job (IDEM-02)', {
  tags: ['Submit-2', 'Errors-15', 'IDEM-02'],
}, () => {
  const full = {
    language: 'bash',
    code: 'true',
    stdin: 'a',
    files: [
      { path: 'input/a', content_base64: 'YQ==' },
      { path: 'input/b', content_base64: 'Yg==' },
    ],
    outputs: ['output/a', 'output/b'],
    runtime: 'system',
    requirements: { minimum_isolation: 'none' },
    limits: { wall_seconds: 5, cpu_seconds: 4, mem_mb: 100, max_pids: 10, max_file_mb: 2 },
  };

  test.each<[string, object]>([
    ['language', { language: 'python' }],
    ['code', { code: 'true ' }],
    ['stdin', { stdin: '' }],
    ['stdin left out', { stdin: undefined }],
    ['an input’s bytes', { files: [full.files[0], { path: 'input/b', content_base64: 'Yw==' }] }],
    ['an input’s path', { files: [full.files[0], { path: 'input/c', content_base64: 'Yg==' }] }],
    ['the order of inputs', { files: full.files.toReversed() }],
    ['inputs left out', { files: undefined }],
    ['outputs', { outputs: ['output/a', 'output/c'] }],
    ['the order of outputs', { outputs: full.outputs.toReversed() }],
    ['outputs left out', { outputs: undefined }],
    ['runtime', { runtime: undefined }],
    ['requirements', { requirements: { minimum_isolation: 'linux-shared-kernel' } }],
    ...LIMIT_NAMES.map((name): [string, object] => [
      name,
      { limits: { ...full.limits, [name]: full.limits[name] + 1 } },
    ]),
    ['a limit by a millionth of a second', { limits: { ...full.limits, wall_seconds: 5.000001 } }],
    ['limits left out', { limits: undefined }],
  ])('%s', async (_name, change) => {
    const key = freshKey();
    expect((await post(full, key)).status).toBe(201);
    const before = await rig().jobCount();
    const { status, json } = await post({ ...full, ...change }, key);
    expect([status, json.error.code, json.error.retryable]).toEqual([422, 'idempotency_key_reused', false]);
    expect(await rig().jobCount()).toBe(before);
  });
});

test('an idempotency key belongs only to its tenant (IDEM-05)', { tags: ['Submit-1c', 'IDEM-05'] }, async () => {
  const key = freshKey();
  const alpha = await post(spec, key);
  const beta = await post({ ...spec, code: 'echo other' }, key, rig().beta.key);
  expect([alpha.status, beta.status]).toEqual([201, 201]);
  expect(beta.json.job_id).not.toBe(alpha.json.job_id);
  const again = await Promise.all([post(spec, key), post({ ...spec, code: 'echo other' }, key, rig().beta.key)]);
  expect(again.map(({ json }) => json.job_id)).toEqual([alpha.json.job_id, beta.json.job_id]);
});

test('a refused submission does not use up its idempotency key (IDEM-07)', {
  tags: ['Submit-1d', 'IDEM-07'],
}, async () => {
  const key = freshKey();
  expect((await post({ ...spec, language: 'cobol' }, key)).status).toBe(400);
  expect((await post({ ...spec, requirements: { minimum_isolation: 'hardware-vm' } }, key)).status).toBe(422);
  const { status, headers } = await post(spec, key);
  expect([status, headers.get('idempotency-replayed')]).toEqual([201, 'false']);
});

describe('a key (IDEM-04, IDEM-10)', { tags: ['IDEM-04', 'IDEM-10'] }, () => {
  test.each([
    '!',
    '~',
    'x'.repeat(128),
    "';DROP/**/TABLE/**/jobs;--",
    "'||(select/**/job_id/**/from/**/jobs)||'",
    '../../etc/passwd',
    '%00',
    '%0d%0aX-Injected:1',
    '{"msg":"forged"}',
    '__proto__',
    'constructor',
  ])('a key of visible ASCII is accepted unchanged: %s', { tags: ['Submit-1b', 'Limits-12'] }, async (key) => {
    const first = await post(spec, key);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, 'false']);
    const second = await post(spec, key);
    expect([second.json.job_id, second.headers.get('idempotency-replayed')]).toEqual([first.json.job_id, 'true']);
    expect([...second.headers.keys()]).not.toContain('x-injected');
  });

  test.each([
    ['empty', ''],
    ['of 129 bytes', 'x'.repeat(129)],
    ['with a space', 'a b'],
    ['with a tab', 'a\tb'],
    ['that is not ASCII', 'é'],
    ['with DEL', 'a\x7fb'],
    ['of two joined keys', 'a, b'],
    ['of one space', ' '],
  ])('%s is refused', { tags: ['Submit-1b', 'Limits-12'] }, async (_name, key) => {
    const lines = `POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rig().alpha.key}\r\nConnection: close`;
    const body = JSON.stringify(spec);
    const [answer] = await rig().raw(
      Buffer.from(
        `${lines}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nIdempotency-Key: ${key}\r\n\r\n${body}`,
        'latin1',
      ),
    );
    expect([answer?.status, JSON.parse(answer?.body ?? '').error.code]).toEqual([400, 'invalid_request']);
  });

  test('two keys in one request are refused, even if both are the same', { tags: ['Submit-1b'] }, async () => {
    const body = JSON.stringify(spec);
    const [answer] = await rig().raw(
      `POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rig().alpha.key}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n${body}`,
    );
    expect([answer?.status, JSON.parse(answer?.body ?? '').error.code]).toEqual([400, 'invalid_request']);
  });
});

test('an idempotency key returns its first job after ceilings, provider and limits have changed (IDEM-08)', {
  tags: ['Submit-1a', 'IDEM-08', 'RST-08'],
}, async () => {
  const keyed = { headers: { 'idempotency-key': 'kept' } };
  const wide = { language: 'bash', code: 'true', limits: { wall_seconds: 250, mem_mb: 900 } };
  const demanding = { ...wide, requirements: { minimum_isolation: 'linux-shared-kernel' }, runtime: 'system' };
  const first = await Rig.start();
  const made = await first.post(demanding, keyed);
  expect(made.status).toBe(201);
  const { detail } = await first.ended(made.json.job_id);
  expect(await first.stop('kept')).toEqual([]);

  const narrow = { 'ceiling-wall-seconds': '1', 'ceiling-mem-mb': '64', 'free-space-reserve-mb': '1000000000' };
  const second = await Rig.start({ ...narrow, provider: 'subprocess' }, first.dataDir);
  const again = await second.post(demanding, keyed);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(again.json).toEqual(made.json);
  expect((await second.alpha.client.detail(made.json.job_id)).requested_spec).toEqual(detail.requested_spec);
  // A submission with the clamped values has a different specification from the first.
  const clamped = await second.post({ ...demanding, limits: { wall_seconds: 1, mem_mb: 64 } }, keyed);
  expect([clamped.status, clamped.json.error.code]).toEqual([422, 'idempotency_key_reused']);
  expect(await second.jobCount()).toBe(1);
  expect(await second.stop()).toEqual([]);
});
