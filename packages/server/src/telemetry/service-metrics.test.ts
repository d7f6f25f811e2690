import { LANGUAGES, TERMINAL_STATUSES } from '@vouchbox/protocol';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { METRICS_FORMATS } from './metrics-format.ts';
import type { EndedJob } from './observer.ts';
import { type JobCounts, type LogFigures, type ParkingCounts, ServiceMetrics } from './service-metrics.ts';

const CALM: JobCounts = { queued: 3, running: 2, oldest_queued_at: null, outbox: 4 };

const PARKING: ParkingCounts = {
  bytes: 3000,
  bytesMax: 4096,
  cells: new Map([['python', 2]]),
  taken: { parked: 5, awaited: 1, cold: 2 },
  lost: { died: 1, changed: 0, surplus: 3 },
};

let parking: ParkingCounts;
let counts: () => Promise<JobCounts>;
let logFigures: () => Promise<LogFigures>;
let metrics: ServiceMetrics;
const opened: ServiceMetrics[] = [];
beforeEach(() => {
  parking = PARKING;
  counts = async () => CALM;
  logFigures = async () => ({ size: 9, signed_size: 7, waiting: 2 });
  metrics = new ServiceMetrics({
    version: '1.2.3',
    backend: 'namespace',
    isolation_class: 'linux-shared-kernel',
    queueCapacity: 256,
    slots: 2,
    permits: [{ kind: 'wait', limit: 80, held: () => 7 }],
    parking: () => parking,
    fleet: () => null,
    isDraining: () => false,
    objectProblems: () => ({ missing: 0, damaged: 0 }),
    counts: () => counts(),
    logFigures: () => logFigures(),
  });
  opened.push(metrics);
});
afterAll(() => {
  for (const each of opened) each[Symbol.dispose]();
});

const ENDED: EndedJob = {
  job_id: 'job_1',
  tenant: 'acme',
  language: 'bash',
  status: 'failed',
  terminal_reason: 'exited',
  created_at: '2026-01-01T00:00:00.000Z',
  started_at: '2026-01-01T00:00:02.000Z',
  finished_at: '2026-01-01T00:00:02.300Z',
  duration_ms: 300,
};

/** The values of the series with this name, keyed by the spelling of their labels. */
async function series(
  name: string,
  format: (typeof METRICS_FORMATS)[number] = 'text',
): Promise<Record<string, number>> {
  const lines = (await metrics.render(format)).split('\n').filter((line) => !line.startsWith('#'));
  const found = lines.map((line) => /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)).filter((match) => match?.[1] === name);
  return Object.fromEntries(found.map((match) => [match?.[2] ?? '', Number(match?.[3])]));
}

test('gauges have the values at the time of the scrape', async () => {
  expect(await series('svc_jobs_queued')).toEqual({ '': 3 });
  expect(await series('svc_jobs_running')).toEqual({ '': 2 });
  expect(await series('svc_attestation_outbox_depth')).toEqual({ '': 4 });
  expect(await series('svc_queue_oldest_age_seconds')).toEqual({ '': 0 });
  expect(await series('svc_permits_in_use')).toEqual({ 'kind="wait"': 7 });
  expect(await series('svc_permits_limit')).toEqual({ 'kind="wait"': 80 });
  expect(await series('svc_queue_capacity')).toEqual({ '': 256 });
  expect(await series('svc_build_info')).toEqual({
    'version="1.2.3",backend="namespace",isolation_class="linux-shared-kernel"': 1,
  });
  counts = async () => ({ ...CALM, queued: 0, oldest_queued_at: new Date(Date.now() - 5000).toISOString() });
  expect(await series('svc_jobs_queued')).toEqual({ '': 0 });
  expect((await series('svc_queue_oldest_age_seconds'))['']).toBeGreaterThanOrEqual(5);
});

test('the number of parked cells is a gauge, and their uses and losses are counted', async () => {
  expect((await series('svc_parked_cells'))['language="python"']).toBe(2);
  expect(await series('svc_parked_bytes')).toEqual({ '': 3000 });
  expect(await series('svc_parked_limit_bytes')).toEqual({ '': 4096 });
  expect(await series('svc_cells_taken_total')).toEqual({ 'how="parked"': 5, 'how="awaited"': 1, 'how="cold"': 2 });
  expect(await series('svc_parked_cells_lost_total')).toEqual({
    'why="died"': 1,
    'why="changed"': 0,
    'why="surplus"': 3,
  });
  parking = { ...PARKING, cells: new Map([['python', 0]]), taken: { ...PARKING.taken, parked: 7 } };
  expect((await series('svc_parked_cells'))['language="python"']).toBe(0);
  expect((await series('svc_cells_taken_total'))['how="parked"']).toBe(7);
});

test('if the store fails, its series are left out until the store works again', async () => {
  counts = () => Promise.reject(new Error('gone'));
  expect(await series('svc_store_ready')).toEqual({ '': 0 });
  for (const name of ['svc_jobs_queued', 'svc_jobs_running', 'svc_attestation_outbox_depth']) {
    expect(await series(name)).toEqual({});
  }
  expect(await series('svc_queue_capacity')).toEqual({ '': 256 });
  counts = async () => CALM;
  expect(await series('svc_store_ready')).toEqual({ '': 1 });
  expect(await series('svc_jobs_queued')).toEqual({ '': 3 });
});

test('if the service keeps a log, its leaves and the waiting statements are gauges', async () => {
  expect(await series('svc_log_leaves')).toEqual({ '': 9 });
  expect(await series('svc_log_signed_leaves')).toEqual({ '': 7 });
  expect(await series('svc_log_waiting')).toEqual({ '': 2 });
  logFigures = () => Promise.reject(new Error('gone'));
  for (const name of ['svc_log_leaves', 'svc_log_signed_leaves', 'svc_log_waiting'])
    expect(await series(name)).toEqual({});
});

test('each event is counted once in both formats', async () => {
  metrics.jobAdmitted({ job_id: 'job_1', language: 'bash' });
  metrics.jobEnded(ENDED);
  metrics.jobEnded({ ...ENDED, status: 'cancelled', started_at: null, duration_ms: null });
  metrics.cellPrepared({ language: 'bash', seconds: 0.2, isReady: false });
  metrics.changeCommitted(0.002);
  metrics.headRefused(400);
  metrics.connectionRefused();
  metrics.requestAnswered({ id: 'r', method: 'GET', route: '/v1/jobs/{id}', status: 200, seconds: 0.01 });
  for (const format of METRICS_FORMATS) {
    expect((await series('svc_jobs_admitted_total', format))['language="bash"']).toBe(1);
    const ended = await series('svc_jobs_ended_total', format);
    expect(ended['language="bash",status="failed"']).toBe(1);
    expect(ended['language="bash",status="cancelled"']).toBe(1);
    expect((await series('svc_job_duration_seconds_count', format))['language="bash"']).toBe(1);
    expect((await series('svc_job_duration_seconds_sum', format))['language="bash"']).toBe(0.3);
    expect(await series('svc_job_queue_seconds_sum', format)).toEqual({ '': 2 });
    expect((await series('svc_sandbox_prepare_seconds_count', format))['result="failed"']).toBe(1);
    expect(await series('svc_store_commit_seconds_count', format)).toEqual({ '': 1 });
    expect(await series('svc_http_heads_refused_total', format)).toEqual({ 'status="400"': 1 });
    expect(await series('svc_http_connections_refused_total', format)).toEqual({ '': 1 });
    const requests = await series('svc_http_requests_total', format);
    expect(requests).toEqual({ 'method="GET",route="/v1/jobs/{id}",status="200"': 1 });
  }
});

describe('the number of metric series', () => {
  const lineCount = async () => (await metrics.render('text')).split('\n').length;

  test('is the same before the first job and after any job', async () => {
    const before = await lineCount();
    for (const language of LANGUAGES) {
      for (const status of TERMINAL_STATUSES) metrics.jobEnded({ ...ENDED, language, status });
      metrics.jobAdmitted({ job_id: 'job_2', language });
      metrics.cellPrepared({ language, seconds: 1, isReady: true });
    }
    metrics.changeCommitted(1);
    expect(await lineCount()).toBe(before);
  });

  test('does not grow with clients’ requests', async () => {
    const answer = (method: string, route: string | null) =>
      metrics.requestAnswered({ id: 'r', method, route, status: 404, seconds: 1 });
    answer('GET', null);
    const before = await lineCount();
    for (const method of ['BREW', 'M-SEARCH', '__proto__', 'GET']) answer(method, null);
    answer('PUT', '/v1/jobs/{id}');
    answer('GET', '/v1/jobs/job_1');
    expect(await lineCount()).toBe(before);
  });

  test('names no tenant and no job', async () => {
    metrics.jobEnded({ ...ENDED, tenant: 'tenant-hidden', job_id: 'job_hidden' });
    expect(await metrics.render('text')).not.toContain('hidden');
  });
});

test('the OpenMetrics format ends with its end mark, and does not change the text format', async () => {
  const first = await metrics.render('text');
  const open = await metrics.render('openmetrics');
  expect(open.endsWith('\n# EOF\n')).toBe(true);
  expect(open).toContain('# TYPE svc_jobs_ended counter\n');
  expect(open).not.toContain('_total_total');
  const names = (text: string) => text.split('\n').filter((line) => line.startsWith('# TYPE'));
  expect(names(await metrics.render('text'))).toEqual(names(first));
  expect(first).toContain('# TYPE svc_jobs_ended_total counter\n');
});

test('the CPU time never goes down, whichever format is requested', async () => {
  const seen: number[] = [];
  for (const format of ['text', 'openmetrics', 'text', 'text', 'openmetrics'] as const) {
    seen.push((await series('process_cpu_seconds_total', format))[''] ?? Number.NaN);
  }
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});
