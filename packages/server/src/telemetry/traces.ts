/**
 * Traces for an OpenTelemetry collector: a span for every request, and a span for every ended job, with its time in the queue and
 * its run. A job's span is in the trace of the request that submitted the job. This module is loaded only if the operator named
 * a collector. No span contains a request target, a header, a credential or any part of a program.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { within } from '../ground/waiting/within.ts';
import type { Log } from './log/log.ts';
import type { AdmittedJob, AnsweredRequest, BegunRequest, EndedJob, Observer } from './observer.ts';

export interface TracesOptions {
  /** The address to which spans are posted. */
  readonly url: string;
  readonly version: string;
  readonly log: Log;
}

const exportMillisecondsMax = 5000;
/** How long a collector that does not answer may delay the service's end. */
const closeMillisecondsMax = 2000;
/** For how many jobs the request's trace is remembered. Older jobs begin a trace of their own. */
const jobsRememberedMax = 10_000;
/** The shortest time between two reports that the collector fails. */
const complaintMilliseconds = 60_000;

/** Makes spans until it is disposed. Disposing it sends the spans that still wait. */
export class Traces implements Observer, AsyncDisposable {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #current = new AsyncLocalStorage<Span>();
  readonly #requests = new Map<string, Span>();
  readonly #submissions = new Map<string, Context>();

  constructor({ url, version, log }: TracesOptions) {
    const exporter = complaining(new OTLPTraceExporter({ url, timeoutMillis: exportMillisecondsMax }), log);
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'svc', 'service.version': version }),
      sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
      spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: exportMillisecondsMax })],
    });
    this.#tracer = this.#provider.getTracer('svc', version);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A failure was already logged.
    const closed = this.#provider.shutdown().catch(() => undefined);
    await within(closed, closeMillisecondsMax, undefined);
  }

  requestBegan({ id, method, route, traceparent }: BegunRequest, proceed: () => void): void {
    const attributes = { 'http.request.method': method, 'http.route': route ?? '', 'svc.request_id': id };
    const name = `${method} ${route ?? 'unknown'}`;
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, contextOf(traceparent));
    this.#requests.set(id, span);
    this.#current.run(span, proceed);
  }

  requestAnswered({ id, status }: AnsweredRequest): void {
    const span = this.#requests.get(id);
    if (span === undefined) return;
    this.#requests.delete(id);
    if (status === null) span.addEvent('aborted');
    else span.setAttribute('http.response.status_code', status);
    if (status !== null && status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  jobAdmitted({ job_id }: AdmittedJob): void {
    const span = this.#current.getStore();
    if (span === undefined) return;
    span.setAttribute('svc.job_id', job_id);
    this.#submissions.set(job_id, trace.setSpanContext(ROOT_CONTEXT, span.spanContext()));
    const [oldest] = this.#submissions.keys();
    if (this.#submissions.size > jobsRememberedMax && oldest !== undefined) this.#submissions.delete(oldest);
  }

  jobEnded(job: EndedJob): void {
    const { job_id, tenant, language, status, terminal_reason } = job;
    const [created, finished] = [new Date(job.created_at), new Date(job.finished_at)];
    const started = job.started_at === null ? null : new Date(job.started_at);
    const attributes = {
      'svc.job_id': job_id,
      'svc.tenant': tenant,
      'svc.language': language,
      'svc.status': status,
      'svc.terminal_reason': terminal_reason ?? '',
    };
    const parent = this.#submissions.get(job_id) ?? ROOT_CONTEXT;
    this.#submissions.delete(job_id);
    const span = this.#tracer.startSpan('job', { startTime: created, attributes }, parent);
    const within = trace.setSpan(ROOT_CONTEXT, span);
    this.#tracer.startSpan('queued', { startTime: created }, within).end(started ?? finished);
    if (started !== null) this.#tracer.startSpan('running', { startTime: started }, within).end(finished);
    if (status === 'error') span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(finished);
  }

  headRefused(): void {}
  connectionRefused(): void {}
  cellPrepared(): void {}
  changeCommitted(): void {}
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

/** The trace context that a client sent; empty if it sent none or a malformed one. W3C Trace Context § 3.2. */
function contextOf(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** Wraps the exporter so that its failures are logged, but at most one a minute. */
function complaining(exporter: SpanExporter, log: Log): SpanExporter {
  let complainedAt = Number.NEGATIVE_INFINITY;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const now = performance.now();
        if (result.error !== undefined && now - complainedAt > complaintMilliseconds) {
          complainedAt = now;
          log.warn({ err: result.error, spans: spans.length }, 'traces could not be sent');
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
