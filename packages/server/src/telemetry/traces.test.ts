import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLog } from './log/log.ts';
import type { EndedJob } from './observer.ts';
import { Traces } from './traces.ts';

interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: Record<string, unknown> }[];
  readonly status: { readonly code?: number };
}

let collector: Server;
let url: string;
let spans: ExportedSpan[];
let bodies: string[];
beforeAll(async () => {
  collector = createServer((request, response) => {
    void json(request).then((body) => {
      bodies.push(JSON.stringify(body));
      const { resourceSpans } = body as { resourceSpans: { scopeSpans: { spans: ExportedSpan[] }[] }[] };
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`;
});
beforeEach(() => {
  spans = [];
  bodies = [];
});
afterAll(() => new Promise((resolve) => collector.close(resolve)));

const log = createLog('silent');
const REQUEST = { id: 'request-1', method: 'POST', route: '/v1/jobs', traceparent: undefined };
const ENDED: EndedJob = {
  job_id: 'job_1',
  tenant: 'acme',
  language: 'bash',
  status: 'error',
  terminal_reason: 'runtime_failed',
  created_at: '2026-01-01T00:00:00.000Z',
  started_at: '2026-01-01T00:00:02.000Z',
  finished_at: '2026-01-01T00:00:02.300Z',
  duration_ms: 300,
};

/** All spans that were sent by the time the traces are disposed, keyed by name. */
async function exported(work: (traces: Traces) => void | Promise<void>): Promise<Record<string, ExportedSpan>> {
  {
    await using traces = new Traces({ url, version: '1.2.3', log });
    await work(traces);
  }
  return Object.fromEntries(spans.map((span) => [span.name, span]));
}

function attributesOf(span: ExportedSpan | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
}

test('a request is a span with its route, its answer and its id', async () => {
  const { 'POST /v1/jobs': span } = await exported((traces) => {
    traces.requestBegan(REQUEST, () => {});
    traces.requestAnswered({ ...REQUEST, status: 503, seconds: 1 });
  });
  expect(attributesOf(span)).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/jobs',
    'svc.request_id': 'request-1',
    'http.response.status_code': 503,
  });
  expect(span?.status.code).toBe(2);
  expect(bodies.join('')).toContain('"service.name"');
});

test('a job, with its wait and its run, is in the trace of the request that submitted it', async () => {
  const found = await exported(async (traces) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    traces.requestBegan(REQUEST, () => {
      // The job is admitted later, while the request is still handled.
      setImmediate(() => {
        traces.jobAdmitted({ job_id: 'job_1', language: 'bash' });
        resolve();
      });
    });
    await promise;
    traces.requestAnswered({ ...REQUEST, status: 201, seconds: 1 });
    traces.jobEnded(ENDED);
  });
  const { 'POST /v1/jobs': request, job, queued, running } = found;
  expect(new Set(Object.values(found).map(({ traceId }) => traceId)).size).toBe(1);
  expect(job?.parentSpanId).toBe(request?.spanId);
  expect([queued?.parentSpanId, running?.parentSpanId]).toEqual([job?.spanId, job?.spanId]);
  const lengthOf = (span: ExportedSpan | undefined) =>
    (BigInt(span?.endTimeUnixNano ?? 0) - BigInt(span?.startTimeUnixNano ?? 0)) / 1_000_000n;
  expect([lengthOf(job), lengthOf(queued), lengthOf(running)]).toEqual([2300n, 2000n, 300n]);
  expect(attributesOf(request)).toHaveProperty('svc.job_id', 'job_1');
  expect(attributesOf(job)).toMatchObject({ 'svc.status': 'error', 'svc.terminal_reason': 'runtime_failed' });
});

test('a job without a request has its own trace, and a job that never ran has no span for a run', async () => {
  const { job, queued, running } = await exported((traces) => {
    traces.jobEnded({ ...ENDED, status: 'cancelled', started_at: null, duration_ms: null });
  });
  expect(job?.parentSpanId ?? '').toBe('');
  expect(queued?.endTimeUnixNano).toBe(job?.endTimeUnixNano);
  expect(running).toBeUndefined();
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test("a request from a client that also traces is part of the client's trace", async () => {
  const { 'POST /v1/jobs': span } = await exported((traces) => {
    traces.requestBegan({ ...REQUEST, traceparent: `00-${TRACE}-${SPAN}-01` }, () => {});
    traces.requestAnswered({ ...REQUEST, status: 201, seconds: 1 });
  });
  expect([span?.traceId, span?.parentSpanId]).toEqual([TRACE, SPAN]);
});

test.each([
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}`,
  'hello',
])('a malformed trace context begins a new trace: %s', async (traceparent) => {
  const { 'POST /v1/jobs': span } = await exported((traces) => {
    traces.requestBegan({ ...REQUEST, traceparent }, () => {});
    traces.requestAnswered({ ...REQUEST, status: null, seconds: 1 });
  });
  expect(span?.traceId).not.toBe(TRACE);
  expect(span?.parentSpanId ?? '').toBe('');
});

test('a request from a client that is not sampled is not traced', async () => {
  const found = await exported((traces) => {
    traces.requestBegan({ ...REQUEST, traceparent: `00-${TRACE}-${SPAN}-00` }, () => {});
    traces.requestAnswered({ ...REQUEST, status: 201, seconds: 1 });
  });
  expect(found).toEqual({});
});

test('repeated refusals by a collector are reported once', async () => {
  const lines: string[] = [];
  const complaints = createLog('warn', { write: (line: string) => lines.push(line) });
  const refusing = createServer((request, response) => {
    request.resume();
    response.writeHead(400).end();
  }).listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  const address = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/v1/traces`;
  {
    await using traces = new Traces({ url: address, version: '1', log: complaints });
    // More than one batch.
    for (let index = 0; index < 1000; index++) traces.jobEnded(ENDED);
  }
  refusing.close();
  expect(lines.filter((line) => line.includes('traces could not be sent'))).toHaveLength(1);
});

test('a missing collector delays the process’s end only briefly', async () => {
  await using traces = new Traces({ url: 'http://127.0.0.1:1/v1/traces', version: '1', log });
  traces.jobEnded(ENDED);
  await expect(traces[Symbol.asyncDispose]()).resolves.toBeUndefined();
});
