import { expect, test } from 'vitest';
import { lastRequests } from '../test/last-requests.ts';
import { json, noAnswer, refusal, type Seen, scriptedService } from '../test/scripted-service.ts';
import { whole } from '../test/whole-answer.ts';
import { ServiceFailure, TransportFailure } from './failure.ts';
import { createServiceClient } from './service-client.ts';

const stored = whole('POST /v1/gradings', { grading_id: 'grd_1' });
const isStored = ({ method }: Seen) => method === 'POST';
const tests = [{ name: 'one', expected: '3' }];

/** Grades on a service that accepts the grading and then gives this answer to every request. */
async function failedGrading(later: Parameters<typeof scriptedService>[0][number]) {
  await using service = await scriptedService([
    (response, request) => (isStored(request) ? json(stored, 201) : later)(response, request),
  ]);
  const retry = { attemptsMax: 2, patienceSeconds: 30 };
  const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep: async () => {}, retry });
  const error: unknown = await client.grade('print(3)', { tests }).catch((caught: unknown) => caught);
  return { error, requests: service.seen.map(({ method, url }) => `${method} ${url.replace(/\?.*/, '')}`) };
}

test("if the service stays away, a grading fails with the grading's id and is not cancelled", async () => {
  const { error, requests } = await failedGrading(noAnswer);
  expect(error).toMatchObject({ reason: 'network', grading_id: 'grd_1' });
  expect(requests.filter((line) => line === 'GET /v1/gradings/grd_1/events').length).toBeGreaterThan(4);
  expect(requests).not.toContain('DELETE /v1/gradings/grd_1');
});

test("if the service refuses to show a grading, the call fails with the grading's id, and the grading is cancelled", async () => {
  const { error, requests } = await failedGrading(refusal(403, 'insufficient_scope', {}, false));
  expect(error).toMatchObject({ code: 'insufficient_scope', grading_id: 'grd_1' });
  expect(requests.at(-1)).toBe('DELETE /v1/gradings/grd_1');
});

test("if a callback throws another service's error, the grading is cancelled and the error stays unchanged", async () => {
  const job = { seq: 1, kind: 'job', data: { name: 'test one', test: 'one', job_id: 'job_1' } };
  const folded = whole('GET /v1/jobs/{id}/result', { job_id: 'job_1', status: 'succeeded' });
  const answers: Readonly<Record<string, unknown>> = {
    'POST /v1/gradings': stored,
    'GET /v1/gradings/grd_1/events': whole('GET /v1/gradings/{grading}/events', { items: [job], next_cursor: 1 }),
    'GET /v1/jobs/job_1/result': folded,
    'GET /v1/jobs/job_1': whole('GET /v1/jobs/{id}', { ...folded, receipt: { receipt_sha256: 'r' } }),
  };
  await using service = await scriptedService([
    (response, { method, url }) => json(answers[`${method} ${url.replace(/\?.*/, '')}`] ?? {})(response),
  ]);
  const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep: async () => {} });
  const error = new TransportFailure('network', 'the service of the caller is away');
  const onTest = () => {
    throw error;
  };
  await expect(client.grade('print(3)', { tests, onTest })).rejects.toBe(error);
  expect(error.grading_id).toBe(null);
  expect(service.seen.at(-1)).toMatchObject({ method: 'DELETE', url: '/v1/gradings/grd_1' });
});

test.each([
  ['the submission', ['POST', 'POST']],
  ['the cancellation', ['POST', 'GET', 'DELETE']],
])(
  'a grading ends soon after its signal aborts, with one try per request, even if the service does not answer %s',
  async (_what, asked) => {
    using last = lastRequests();
    const methods = () => service.seen.map(({ method }) => method);
    await using service = await scriptedService([
      (response, request) => {
        if (asked.includes('GET') && isStored(request)) json(stored, 201)(response);
        else if (methods().length === asked.length) last.end();
      },
    ]);
    const abort = new AbortController();
    const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep: async () => {} });
    const grading = client.grade('print(3)', { tests, signal: abort.signal });
    await expect.poll(methods).toEqual(asked.slice(0, -1));
    abort.abort(new Error('enough'));
    await expect(grading).rejects.toThrow('enough');
    expect(methods()).toEqual(asked);
  },
);

const refused = { code: 'queue_full', status: 503, retryable: true, requestId: null, retryAfterSeconds: null } as const;

test.each([
  ['the submission', 'a refusal', new ServiceFailure('', refused), ['POST', 'POST', 'DELETE']],
  ['the wait', 'a refusal', new ServiceFailure('', refused), ['POST', 'GET', 'DELETE']],
  ['the wait', 'a lost connection', new TransportFailure('network', ''), ['POST', 'GET', 'DELETE']],
])('an abort during %s cancels the grading, even if the reason is %s from another call', async (...given) => {
  const [, , reason, asked] = given;
  const methods = () => service.seen.map(({ method }) => method);
  const cancelled = json(whole('DELETE /v1/gradings/{grading}', { grading_id: 'grd_1' }));
  await using service = await scriptedService([
    (response, request) => {
      if (request.method === 'DELETE') cancelled(response);
      if (isStored(request) && (asked.includes('GET') || methods().length > 1)) json(stored, 201)(response);
    },
  ]);
  const abort = new AbortController();
  const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep: async () => {} });
  const grading = client.grade('print(3)', { tests, signal: abort.signal });
  await expect.poll(methods).toEqual(asked.includes('GET') ? ['POST', 'GET'] : ['POST']);
  abort.abort(Object.freeze(reason));
  await expect(grading).rejects.toBe(reason);
  expect(methods()).toEqual(asked);
});

test('a grading is not submitted if one of its texts could not be uploaded', async () => {
  await using service = await scriptedService([noAnswer]);
  const retry = { attemptsMax: 2 };
  const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'key-1', sleep: async () => {}, retry });
  const large = [{ name: 'large', stdin: 'x'.repeat(2 ** 20 + 1) }];
  await expect(client.grade('print(3)', { tests: large })).rejects.toMatchObject({ reason: 'network' });
  expect(service.seen.map(({ method }) => method)).toEqual(['PUT', 'PUT']);
});
