/** Spec § Other routes, § Authentication 9: metrics about the service for the operator, and about a tenant for that tenant. */

import { LANGUAGES, OPENMETRICS_MEDIA_TYPE, PROMETHEUS_MEDIA_TYPE, SCOPES } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { seriesOf } from '../rig/metric-series.ts';
import { useRig } from '../rig/rig.ts';
import { type CollectedSpan, openTraceCollector } from '../rig/trace-collector.ts';

const collector = await openTraceCollector();
afterAll(() => collector[Symbol.asyncDispose]());

const TOKEN = 'token-of-metrics';
const bash = { language: 'bash', code: 'true' } as const;
/** The timeout for polls. They may take long if the host does other work. */
const soon = { timeout: 30_000 };
const sleeper = { language: 'bash', code: 'echo started; sleep 300', limits: { wall_seconds: 300 } } as const;

describe('the metrics of the service', () => {
  const rig = useRig({ 'metrics-token': TOKEN, concurrency: '2', 'tenant-concurrency': '2' });
  const scrape = async () => seriesOf((await rig().request('/metrics', { key: TOKEN })).text);
  const current = async (name: string) => (await scrape()).get(name);

  test('are shown only to requests with the metrics token', {
    tags: ['Routes-3', 'Authentication-9', 'AUTH-13'],
  }, async () => {
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const { key } = await operator.create({ tenant: 'alpha', principal: null, scopes: [...SCOPES], expires_at: null });
    expect((await rig().request('/metrics', { key: TOKEN })).status).toBe(200);
    for (const wrong of [key, rig().alpha.key, `${TOKEN}x`, TOKEN.slice(1)]) {
      const refused = await rig().request('/metrics', { key: wrong });
      expect([refused.status, refused.json.error.code]).toEqual([401, 'unauthorized']);
    }
    expect((await rig().request('/metrics', { key: null })).headers.get('www-authenticate')).toBe('Bearer realm="svc"');
    expect((await rig().request(`/metrics?token=${TOKEN}`, { key: null })).status).toBe(401);
  });

  test('have a token that gives access to nothing else', { tags: ['Authentication-9a', 'AUTH-13'] }, async () => {
    for (const path of ['/v1/whoami', '/v1/metrics', '/v1/jobs', '/v1/status']) {
      expect((await rig().request(path, { key: TOKEN })).status).toBe(401);
    }
  });

  test('come in the format that the scraper prefers', { tags: ['Routes-5'] }, async () => {
    const formats: [accept: string, mediaType: string][] = [
      ['*/*', PROMETHEUS_MEDIA_TYPE],
      ['text/plain', PROMETHEUS_MEDIA_TYPE],
      ['application/openmetrics-text', OPENMETRICS_MEDIA_TYPE],
      ['application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3', OPENMETRICS_MEDIA_TYPE],
      ['application/json', PROMETHEUS_MEDIA_TYPE],
    ];
    for (const [accept, mediaType] of formats) {
      const { headers, text } = await rig().request('/metrics', { key: TOKEN, headers: { accept } });
      expect([accept, headers.get('content-type')]).toEqual([accept, mediaType]);
      expect(text.endsWith('# EOF\n')).toBe(mediaType === OPENMETRICS_MEDIA_TYPE);
      expect(seriesOf(text).has('svc_jobs_ended_total{language="bash",status="succeeded"}')).toBe(true);
    }
  });

  test('count jobs by language and outcome, and their resources', async () => {
    await expect.poll(() => current('svc_parked_cells{language="bash"}'), soon).toBeGreaterThan(0);
    const before = await scrape();
    await rig().run(bash);
    await rig().run({ language: 'bash', code: 'exit 3' });
    await rig().run({ language: 'python', code: '0' }, rig().beta);
    const grown = async (name: string) => ((await current(name)) ?? 0) - (before.get(name) ?? 0);
    await expect.poll(() => grown('svc_jobs_ended_total{language="python",status="succeeded"}'), soon).toBe(1);
    await expect.poll(() => grown('svc_jobs_ended_total{language="bash",status="succeeded"}'), soon).toBe(1);
    await expect.poll(() => grown('svc_jobs_ended_total{language="bash",status="failed"}'), soon).toBe(1);
    expect(await grown('svc_jobs_admitted_total{language="bash"}')).toBe(2);
    expect(await grown('svc_job_duration_seconds_count{language="bash"}')).toBe(2);
    expect(await grown('svc_sandbox_prepare_seconds_count{result="ready"}')).toBe(3);
    const taken = await Promise.all(
      ['parked', 'awaited', 'cold'].map((how) => grown(`svc_cells_taken_total{how="${how}"}`)),
    );
    expect(taken.reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(taken[0]).toBeGreaterThanOrEqual(1);
    // Each job has one commit when it is accepted and one when it ends. Without a parked cell, its start has a third.
    expect(await grown('svc_store_commit_seconds_count')).toBeGreaterThanOrEqual(6);
    expect(await grown('svc_http_requests_total{method="POST",route="/v1/jobs",status="201"}')).toBe(3);
  });

  test('show how many jobs wait and run now, and no longer count a job once it has ended', async () => {
    const { client } = rig().alpha;
    const jobs = await Promise.all([1, 2, 3].map(() => client.submit(sleeper)));
    await expect.poll(() => current('svc_jobs_running'), soon).toBe(2);
    expect(await current('svc_jobs_queued')).toBe(1);
    expect(await current('svc_queue_oldest_age_seconds')).toBeGreaterThan(0);
    expect(await current('svc_job_slots')).toBe(2);
    const waiting = rig().request(`/v1/jobs/${jobs[0]?.job_id}/result?wait_seconds=60`);
    await expect.poll(() => current('svc_permits_in_use{kind="wait"}'), soon).toBe(1);
    for (const { job_id } of jobs.toReversed()) await client.cancel(job_id);
    expect((await waiting).json.status).toBe('cancelled');
    await expect.poll(() => current('svc_jobs_running'), soon).toBe(0);
    expect(await current('svc_jobs_queued')).toBe(0);
    expect(await current('svc_queue_oldest_age_seconds')).toBe(0);
    for (const kind of ['wait', 'stream', 'body', 'response']) {
      await expect.poll(() => current(`svc_permits_in_use{kind="${kind}"}`), soon).toBe(0);
    }
    await expect
      .poll(() => current('svc_jobs_ended_total{language="bash",status="cancelled"}'), soon)
      .toBeGreaterThanOrEqual(3);
  });

  test('have a fixed number of series whatever clients send, and name no tenant, job or key', {
    tags: ['Routes-4'],
  }, async () => {
    const { job_id } = await rig().alpha.client.submit(bash);
    await rig().ended(job_id);
    for (const path of ['/nowhere', `/v1/jobs/${job_id}`, '/v1/jobs/nobody', '/%ZZ']) await rig().request(path);
    await rig().request('/nowhere', { method: 'REPORT' });
    await rig().raw('GET / HTTP/1.1\r\n\r\n');
    const names = async () => [...(await scrape()).keys()].toSorted();
    await names();
    const before = await names();
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    for (const tenant of ['gamma', 'delta', 'epsilon']) {
      const { key } = await operator.create({ tenant, principal: null, scopes: null, expires_at: null });
      const { json } = await rig().post(bash, { key });
      await rig().request(`/v1/jobs/${json.job_id}`, { key });
      await rig().request(`/${tenant}`, { key, method: 'REPORT' });
      await rig().request(`/v1/jobs/${tenant}`, { key });
    }
    expect(await names()).toEqual(before);
    expect(before.join('\n')).not.toMatch(/alpha|beta|gamma|job_0|key-of|nowhere/);
  });

  test('count the refusals of bytes that the HTTP parser could not read as a request', async () => {
    const name = 'svc_http_heads_refused_total{status="400"}';
    const before = (await current(name)) ?? 0;
    const [answer] = await rig().raw('hello\r\n\r\n');
    expect(answer?.status).toBe(400);
    expect(await current(name)).toBe(before + 1);
  });
});

describe('the metrics of a tenant', () => {
  const rig = useRig({ provider: 'subprocess', concurrency: '1', 'tenant-queue-max': '7' });
  const seriesFor = async (key: string) =>
    Object.fromEntries(seriesOf((await rig().request('/v1/metrics', { key })).text));

  test("count only the tenant's current jobs", { tags: ['Routes-1'] }, async () => {
    const { alpha, beta } = rig();
    const seriesOfJobs = (language: string, status: string) =>
      `svc_tenant_jobs{language="${language}",status="${status}"}`;
    // There is one series for each language and status, whatever jobs the tenant has.
    const none = Object.fromEntries(
      LANGUAGES.flatMap((language) => ['queued', 'running'].map((status) => [seriesOfJobs(language, status), 0])),
    );
    expect(await seriesFor(alpha.key)).toEqual({ ...none, svc_tenant_queue_capacity: 7 });
    const jobs = [await alpha.client.submit(sleeper)];
    await expect.poll(async () => (await seriesFor(alpha.key))[seriesOfJobs('bash', 'running')], soon).toBe(1);
    jobs.push(await alpha.client.submit({ language: 'python', code: 'pass' }));
    expect(await seriesFor(alpha.key)).toEqual({
      ...none,
      [seriesOfJobs('bash', 'running')]: 1,
      [seriesOfJobs('python', 'queued')]: 1,
      svc_tenant_queue_capacity: 7,
    });
    expect(await seriesFor(beta.key)).toEqual({ ...none, svc_tenant_queue_capacity: 7 });
    for (const { job_id } of jobs.toReversed()) await alpha.client.cancel(job_id);
    await expect.poll(() => seriesFor(alpha.key), soon).toMatchObject(none);
  });

  test('come in the format that the scraper prefers', async () => {
    const accept = 'application/openmetrics-text; version=1.0.0';
    const { headers, text } = await rig().request('/v1/metrics', { headers: { accept } });
    expect([headers.get('content-type'), text.endsWith('# EOF\n')]).toEqual([OPENMETRICS_MEDIA_TYPE, true]);
    expect((await rig().request('/v1/metrics')).headers.get('content-type')).toBe(PROMETHEUS_MEDIA_TYPE);
  });

  test('are served to the tenant even if the operator set no metrics token', { tags: ['Routes-2'] }, async () => {
    for (const key of [rig().alpha.key, TOKEN, null]) {
      const refused = await rig().request('/metrics', { key });
      expect([refused.status, refused.json.error.code]).toEqual([404, 'route_not_found']);
    }
  });
});

describe('traces', () => {
  const rig = useRig({ provider: 'subprocess', 'otlp-endpoint': collector.url });
  let job_id: string;
  beforeAll(async () => {
    const code = 'echo canary-of-output';
    job_id = (await rig().run({ language: 'bash', code, stdin: 'canary-of-stdin' })).job_id;
  });

  const isOfJob = ({ name, attributes }: CollectedSpan) =>
    name === 'job' && attributes.some(({ value }) => value.stringValue === job_id);
  /** Spans are sent in batches, every few seconds. */
  const sent = { timeout: 30_000 };

  slowTest('show a job in the trace of the request that submitted it', async () => {
    await expect.poll(() => collector.spans.find(isOfJob), sent).toBeDefined();
    const trace = collector.spans.find(isOfJob)?.traceId;
    const names = collector.spans.filter(({ traceId }) => traceId === trace).map(({ name }) => name);
    expect(names.toSorted()).toEqual(['POST /v1/jobs', 'job', 'queued', 'running']);
  });

  test('contain no credential, no input and no output of a program', async () => {
    await expect.poll(() => collector.spans.find(isOfJob), sent).toBeDefined();
    for (const secret of [rig().alpha.key, 'canary']) expect(collector.text()).not.toContain(secret);
  });
});
