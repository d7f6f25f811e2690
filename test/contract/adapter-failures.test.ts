/** `@vouchbox/adapters` with a service that refuses: the answers to callers, the log, and the starts that are refused. */
import { type AdapterName, openAdapter } from '@vouchbox/adapters';
import { createServiceClient } from '@vouchbox/client';
import { afterEach, describe, expect, test } from 'vitest';
import { json, refusal, type ScriptedService, scriptedService } from '../../packages/client/test/scripted-service.ts';
import { whole } from '../../packages/client/test/whole-answer.ts';
import { vouchbox } from '../rig/command.ts';

const REQUESTS: readonly [AdapterName, string, unknown][] = [
  ['piston', '/api/v2/execute', { language: 'python', version: '*', files: [{ content: 'print(1)' }] }],
  ['judge0', '/submissions?wait=true', { language_id: 71, source_code: 'print(1)' }],
  ['sandbox-fusion', '/run_code', { language: 'python', code: 'print(1)' }],
];
const CAPABILITIES = whole('GET /v1/capabilities', {
  languages: ['python'],
  runtime_packs: [{ name: 'python-data', version: '1', languages: ['python'], digest: 'd' }],
  features: [],
  limits: { ceilings: { wall_seconds: 300, cpu_seconds: 120, mem_mb: 1024 } },
});
const OFFERED: Readonly<Record<string, ReturnType<typeof json>>> = { 'GET /v1/capabilities': json(CAPABILITIES) };
const ENDED = json(
  whole('GET /v1/jobs/{id}/result', { job_id: 'job_1', status: 'succeeded', stdout: '3.11.2\n', artifacts: [] }),
);
const STORED = json(whole('POST /v1/jobs', { job_id: 'job_1' }), 201);

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

/** An adapter for a scripted service. It gives `answers`, which a test may change, and refuses the rest with 429. */
async function adapterOf(
  name: AdapterName,
  answers: typeof OFFERED,
  more: Partial<Parameters<typeof openAdapter>[1]> = {},
) {
  const lines: string[] = [];
  const service: ScriptedService = await scriptedService([
    (response, { method, url }) => {
      const answer = answers[`${method} ${url.replace(/\?.*/, '')}`];
      (answer ?? refusal(429, 'rate_limited', { 'retry-after': '7' }))(response);
    },
  ]);
  opened.push(service);
  const client = createServiceClient({ baseUrl: service.baseUrl, apiKey: 'secret-key', sleep: async () => {} });
  const onFailure = (line: string) => lines.push(line);
  const adapter = await openAdapter(name, { client, host: '127.0.0.1', port: 0, key: null, onFailure, ...more });
  opened.push(adapter);
  const post = (path: string, body: unknown) =>
    fetch(adapter.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  const hangUp = async (path: string, body: unknown, when: Promise<void>) => {
    const gone = new AbortController();
    const call = fetch(adapter.url + path, { method: 'POST', body: JSON.stringify(body), signal: gone.signal });
    await when;
    gone.abort();
    await expect(call).rejects.toThrow('abort');
  };
  return { post, hangUp, lines, service };
}

describe.each(REQUESTS)('%s', (name, path, body) => {
  test.each([
    ['a service without room for a request for its runtimes', {}],
    ['a service without room for a program that names a version', OFFERED],
    ['a service without room for a result', { ...OFFERED, 'POST /v1/jobs': STORED }],
    [
      'a service without room for a detail',
      { ...OFFERED, 'POST /v1/jobs': STORED, 'GET /v1/jobs/job_1/result': ENDED },
    ],
  ])("a refusal by %s becomes a 429 answer with the service's Retry-After, and a log line", async (_what, answers) => {
    const { post, lines } = await adapterOf(name, answers);
    const answer = await post(path, body);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7']);
    expect(await answer.text()).toContain('refused with rate_limited');
    expect(lines).toEqual([`POST ${path.split('?')[0]} was answered with 429: refused with rate_limited`]);
  });

  test('after a refusal by the service, an adapter asks the service again at the next request', async () => {
    const answers: Record<string, ReturnType<typeof json>> = {};
    const { post } = await adapterOf(name, answers);
    expect((await post(path, body)).status).toBe(429);
    Object.assign(answers, OFFERED, {
      'POST /v1/jobs': STORED,
      'GET /v1/jobs/job_1/result': ENDED,
    });
    answers['GET /v1/jobs/job_1'] = refusal(404, 'job_not_found', {}, false);
    expect((await post(path, body)).status).toBe(404);
  });
});

test('if the service refuses the adapter’s key, callers get the adapter’s failure and do not see the key', async () => {
  const { post, lines } = await adapterOf('piston', {
    'GET /v1/capabilities': refusal(401, 'unauthorized', {}, false),
  });
  const answer = await post('/api/v2/execute', REQUESTS[0]?.[2]);
  expect(answer.status).toBe(502);
  expect(lines).toHaveLength(1);
  expect((await answer.text()) + lines.join()).not.toContain('secret-key');
});

test('a language’s version is read from the pack that runs its programs', async () => {
  const answers = { ...OFFERED, 'POST /v1/jobs': STORED, 'GET /v1/jobs/job_1/result': ENDED };
  const { post, service } = await adapterOf('piston', answers, { runtimes: { python: 'python-data' } });
  await post('/api/v2/execute', REQUESTS[0]?.[2]);
  const sent = service.seen.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body) as object);
  expect(sent).toEqual([
    expect.objectContaining({ code: expect.stringMatching(/version_info/), runtime: 'python-data' }),
    expect.objectContaining({ code: 'print(1)', runtime: 'python-data' }),
  ]);
});

test('an adapter does not start if its settings name a pack that the service lacks', async () => {
  const opening = adapterOf('piston', OFFERED, { runtimes: { python: 'science' } });
  await expect(opening).rejects.toThrow('the service has no pack science for python; it has python-data');
});

test.each([
  [['--runtime', 'python'], /give LANGUAGE=PACK, such as python=python-data/],
  [['--runtime', 'cobol=x'], /give LANGUAGE=PACK/],
  [['--runtime', 'python=science'], /--runtime: the service has no pack science for python/],
])('vouchbox adapter with %j is wrong usage', async (words, says) => {
  await using service = await scriptedService([json(CAPABILITIES)]);
  const env = { SERVICE_URL: service.baseUrl, SERVICE_KEY: 'k' };
  const { code, stderr } = await vouchbox(['adapter', 'piston', '--port', '0', ...words], { env });
  expect([code, stderr]).toEqual([2, expect.stringMatching(says)]);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

describe.each(REQUESTS)('%s: in the adapter’s queue, a request', (name, path, body) => {
  const isFull = async (answer: Response) => (await answer.text()).includes('queue is full');
  const holding = () => {
    const [asked, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const hold: (typeof OFFERED)[string] = (response) => {
      asked.resolve();
      void goesOn.promise.then(() => refusal(400, 'malformed_request')(response));
    };
    return { asked: asked.promise, goOn: goesOn.resolve, answers: { ...OFFERED, 'POST /v1/jobs': hold } };
  };

  test('is refused at once and logged while every place is taken, and is served once an answer has freed a place', async () => {
    const { asked, goOn, answers } = holding();
    const { post, lines } = await adapterOf(name, answers, { openMax: { requests: 1, bytes: 1000 } });
    const first = post(path, body);
    await asked;
    const second = await post(path, body);
    expect([second.status, second.headers.get('retry-after')]).toEqual([name === 'sandbox-fusion' ? 200 : 503, '1']);
    expect(await isFull(second)).toBe(true);
    expect(lines).toEqual([`POST ${path.split('?')[0]} was answered with 503: queue is full`]);
    goOn();
    expect([await isFull(await first), await isFull(await post(path, body))]).toEqual([false, false]);
  });

  test('is refused if the bodies of all open requests together would be too large', async () => {
    const { post } = await adapterOf(name, OFFERED, { openMax: { requests: 9, bytes: 20 } });
    expect(await isFull(await post(path, body))).toBe(true);
  });

  test('keeps its place until its program has ended, even if its caller hangs up', async () => {
    const { asked, goOn, answers } = holding();
    const { post, hangUp } = await adapterOf(name, answers, { openMax: { requests: 1, bytes: 1000 } });
    await hangUp(path, body, asked);
    expect(await isFull(await post(path, body))).toBe(true);
    goOn();
    await expect.poll(async () => await isFull(await post(path, body))).toBe(false);
  });
});
