/** The client accepts a promise only if it is about the submission that was sent. Any other signed promise is an error. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { json, noAnswer, refusal, type ScriptedService, scriptedService } from '../test/scripted-service.ts';
import { whole } from '../test/whole-answer.ts';
import { canonicalJson } from './canonical-json.ts';
import { createServiceClient } from './service-client.ts';

const digest = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const AT = '2026-01-01T00:00:00.000Z';
const SUBMITTED = whole('POST /v1/jobs', { job_id: 'job_1', status: 'queued', created_at: AT });
const FOLDED = whole('GET /v1/jobs/{id}/result', { job_id: 'job_1', status: 'succeeded', exit_code: 0 });
const DETAIL = whole('GET /v1/jobs/{id}', { ...FOLDED, receipt: { receipt_sha256: 'r', terminal_reason: 'exited' } });

const RUN = { stdin: 'in', args: ['a'], env: { B: 'b' }, files: { 'f.txt': 'file' } } as const;
const SUBMISSION = {
  language: 'python',
  runtime: null,
  code_sha256: digest('x'),
  stdin_sha256: digest('in'),
  args_sha256: digest(canonicalJson(['a'])),
  env_sha256: digest(canonicalJson({ B: 'b' })),
  input_artifacts: [{ path: 'input/f.txt', size_bytes: 4, sha256: digest('file') }],
};
const PREDICATE = {
  tenant: 'acme',
  jobId: 'job_1',
  tenantJobNumber: 7,
  acceptedAt: AT,
  answerBy: '2026-01-01T00:10:00.000Z',
  logOrigin: 'log.example/log/1',
  logKey: 'key',
  submission: SUBMISSION,
};

type Envelope = Readonly<Record<'payload' | 'payloadType' | 'signatures', unknown>>;

/** The bytes of an envelope around a predicate. */
function envelopeOf(predicate: object, predicateType = 'urn:svc:predicate:job-accepted:v1'): Buffer {
  const payload = base64(JSON.stringify({ predicateType, predicate }));
  return Buffer.from(
    JSON.stringify({ payload, payloadType: 'application/vnd.in-toto+json', signatures: [{ keyid: 'k', sig: 'AA==' }] }),
  );
}

type Answer = ReturnType<typeof json>;

function promising(bytes: Uint8Array): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'x-content-sha256': digest(bytes) }).end(bytes);
  };
}

function serviceWith(
  promise: Answer,
  features: readonly string[] = ['job_promises'],
  others: Readonly<Record<string, Answer>> = {},
): Promise<ScriptedService> {
  const answers: Readonly<Record<string, Answer>> = {
    'GET /v1/capabilities': json({ features }),
    'GET /v1/whoami': json(whole('GET /v1/whoami', { tenant: 'acme' })),
    'POST /v1/jobs': json(SUBMITTED, 201),
    'GET /v1/jobs/job_1/promise': promise,
    'GET /v1/jobs/job_1/result': json(FOLDED),
    'GET /v1/jobs/job_1': json(DETAIL),
    'DELETE /v1/jobs/job_1': json(whole('DELETE /v1/jobs/{id}', { job_id: 'job_1' })),
    ...others,
  };
  return scriptedService([
    (response, { method, url }) => {
      const answer = answers[`${method} ${url.replace(/\?.*/, '')}`];
      if (answer === undefined) response.writeHead(404).end();
      else answer(response);
    },
  ]);
}

const clientOf = ({ baseUrl }: ScriptedService) =>
  createServiceClient({ baseUrl, apiKey: 'key-1', sleep: async () => {}, retry: { attemptsMax: 2 } });
const wasCancelled = ({ seen }: ScriptedService) => seen.some(({ method }) => method === 'DELETE');

test('a run requests a promise, fetches it before the job ends, and returns it with the result', async () => {
  const bytes = envelopeOf(PREDICATE);
  await using service = await serviceWith(promising(bytes));
  const { promise, exit_code } = await clientOf(service).run('x', { ...RUN, promise: 'required' });
  expect(exit_code).toBe(0);
  expect(promise).toMatchObject({ job_id: 'job_1', tenant: 'acme', tenant_job_number: 7, log_key: 'key' });
  expect(Buffer.from(promise?.bytes ?? [])).toEqual(bytes);
  const lines = service.seen.map(({ method, url }) => `${method} ${url}`);
  expect(lines.indexOf('GET /v1/jobs/job_1/promise?wait_seconds=20')).toBeLessThan(
    lines.findIndex((line) => line.includes('/result')),
  );
  expect(JSON.parse(service.seen.find(({ method }) => method === 'POST')?.body ?? '')).toMatchObject({ promise: true });
});

test('a promise is fetched and compared even if the service was lost after it had accepted the job', async () => {
  const lost = (answer: Answer): Answer => {
    let tries = 0;
    return (response) => (++tries < 5 ? noAnswer : answer)(response);
  };
  const whoami = lost(json(whole('GET /v1/whoami', { tenant: 'acme' })));
  const late = lost(promising(envelopeOf(PREDICATE)));
  await using service = await serviceWith(late, ['job_promises'], { 'GET /v1/whoami': whoami });
  const { promise } = await clientOf(service).run('x', { ...RUN, promise: 'required' });
  expect(promise).toMatchObject({ job_id: 'job_1', tenant: 'acme' });
});

describe('a promise in the answer to the submission', () => {
  const FEATURES = ['job_promises', 'submission_wait', 'submission_include'];
  const none = refusal(404, 'not_promised', {}, false);
  const { receipt } = DETAIL;
  const telling = (promise: object | undefined, fetched: Answer = none) =>
    serviceWith(fetched, FEATURES, { 'POST /v1/jobs': json({ ...SUBMITTED, result: FOLDED, receipt, promise }, 201) });

  test('a run with a promise needs only one request', { tags: ['Submit-9c'] }, async () => {
    // The members are not in the order that was signed.
    const { signatures, payload, payloadType } = JSON.parse(envelopeOf(PREDICATE).toString()) as Envelope;
    await using service = await telling({ signatures, payloadType, payload });
    const { promise } = await clientOf(service).run('x', { ...RUN, promise: 'required' });
    const signed = Buffer.from(canonicalJson({ payload, payloadType, signatures }));
    expect(Buffer.from(promise?.bytes ?? [])).toEqual(signed);
    expect(promise).toMatchObject({ job_id: 'job_1', tenant_job_number: 7, sha256: digest(signed) });
    expect(service.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v1/capabilities',
      'POST /v1/jobs?wait_seconds=50&include=receipt%2Cpromise',
      'GET /v1/whoami',
    ]);
  });

  test('a promise that is signed too late for the answer is fetched with a second request', async () => {
    const bytes = envelopeOf(PREDICATE);
    await using service = await telling(undefined, promising(bytes));
    const { promise } = await clientOf(service).run('x', { ...RUN, promise: 'required' });
    expect(Buffer.from(promise?.bytes ?? [])).toEqual(bytes);
  });

  test.each([
    ['of another job', JSON.parse(envelopeOf({ ...PREDICATE, jobId: 'job_2' }).toString()) as object],
    ['that has no canonical form', { payload: '\ud800', payloadType: 'x', signatures: [] }],
  ])('a run ends if the answer has a promise %s', async (_what, promise) => {
    await using service = await telling(promise);
    const run = clientOf(service).run('x', { ...RUN, promise: true });
    await expect(run).rejects.toMatchObject({ name: 'EvidenceFailure', check: 'promise', job_id: 'job_1' });
    expect(wasCancelled(service)).toBe(true);
  });
});

describe('a run fails and its job is cancelled if the promise has', () => {
  const changed = (changes: object) => envelopeOf({ ...PREDICATE, ...changes });
  const submission = (changes: object) => changed({ submission: { ...SUBMISSION, ...changes } });
  test.each([
    ['another job', changed({ jobId: 'job_2' })],
    ['another tenant', changed({ tenant: 'other' })],
    ['another time of acceptance', changed({ acceptedAt: '2025-01-01T00:00:00.000Z' })],
    ['no time to answer by', changed({ answerBy: 'soon' })],
    ['zero as the number of its job', changed({ tenantJobNumber: 0 })],
    ['no submission', changed({ submission: null })],
    ['another program', submission({ code_sha256: digest('y') })],
    ['another language', submission({ language: 'node' })],
    ['another input', submission({ stdin_sha256: null })],
    ['other arguments', submission({ args_sha256: null })],
    ['other variables', submission({ env_sha256: digest('{}') })],
    ['no file', submission({ input_artifacts: [] })],
    ['another file', submission({ input_artifacts: [{ path: 'input/f.txt', sha256: digest('other') }] })],
    ['another type', envelopeOf(PREDICATE, 'urn:svc:predicate:execution-result:v1')],
    ['a payload that is no JSON', Buffer.from('{"payload":"e30","payloadType":"x","signatures":[]}')],
    ['no JSON', Buffer.from('promise')],
  ])('%s', async (_what, bytes) => {
    await using service = await serviceWith(promising(bytes));
    const run = clientOf(service).run('x', { ...RUN, promise: true });
    await expect(run).rejects.toMatchObject({ name: 'EvidenceFailure', check: 'promise', job_id: 'job_1' });
    expect(wasCancelled(service)).toBe(true);
  });
});

test('a promise fails its check if its job number is not higher than the numbers of all earlier jobs', async () => {
  await using service = await serviceWith(promising(envelopeOf(PREDICATE)));
  const client = clientOf(service);
  expect((await client.submit('x', { ...RUN, promise: true })).promise?.tenant_job_number).toBe(7);
  await expect(client.submit('x', { ...RUN, promise: true })).rejects.toMatchObject({ check: 'promise' });
});

describe('without a promise', () => {
  const none = refusal(404, 'not_promised', {}, false);

  test('a run that only requests a promise continues, but a run that requires one fails and is cancelled', async () => {
    await using service = await serviceWith(none);
    expect((await clientOf(service).run('x', { promise: true })).promise).toBeNull();
    expect(wasCancelled(service)).toBe(false);
    const required = clientOf(service).run('x', { promise: 'required' });
    await expect(required).rejects.toMatchObject({ code: 'not_promised', job_id: 'job_1', promise: null });
    expect(wasCancelled(service)).toBe(true);
  });

  test('the client requests no promise from a service without a log', async () => {
    await using service = await serviceWith(none, []);
    expect((await clientOf(service).run('x', { promise: true })).promise).toBeNull();
    await expect(clientOf(service).run('x', { promise: 'required' })).rejects.toMatchObject({ check: 'promise' });
    expect(service.seen.filter(({ method }) => method === 'POST').map(({ body }) => body)).toEqual([
      expect.not.stringContaining('promise') as string,
    ]);
  });
});

test('an error after the promise was received includes the promise', async () => {
  const bytes = envelopeOf(PREDICATE);
  await using service = await serviceWith(promising(bytes));
  const ending = { ...RUN, promise: true, onStdout: () => undefined } as const;
  const failed = clientOf(service).run('x', ending);
  await expect(failed).rejects.toMatchObject({ job_id: 'job_1', promise: { job_id: 'job_1', tenant_job_number: 7 } });
});
