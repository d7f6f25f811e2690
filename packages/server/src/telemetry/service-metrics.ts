/**
 * The metrics of the whole service, for the operator's own token. What happens is counted as it happens; what stands is
 * asked when it is scraped. No label names a tenant, a job or a caller. Not a billing ledger. Spec § Other routes.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry } from '@prometheus-io/client';
import { ABORTED, createInstruments, type Instruments, routeLabels, UNROUTED } from './instruments.ts';
import { METRICS_FORMATS, METRICS_MEDIA_TYPES, type MetricsFormat } from './metrics-format.ts';
import type { AdmittedJob, AnsweredRequest, EndedJob, Observer, PreparedSandbox } from './observer.ts';

/** What the ledger says of the jobs in it. */
export interface JobCounts {
  readonly queued: number;
  readonly running: number;
  readonly oldest_queued_at: string | null;
  readonly outbox: number;
}

/** One kind of permit: how many there are, and how many are held now. */
export interface PermitSource {
  readonly kind: string;
  readonly limit: number;
  readonly held: () => number;
}

/** What stays as it is while the service runs, and what is asked at every scrape. */
export interface MetricsSources {
  readonly version: string;
  readonly backend: string;
  readonly isolation_class: string;
  readonly queueCapacity: number;
  readonly slots: number;
  readonly permits: readonly PermitSource[];
  isDraining(): boolean;
  /** Rejects where the ledger cannot be asked. */
  counts(): Promise<JobCounts>;
}

const loopResolutionMilliseconds = 20;

/** Counts from its creation until it is disposed. */
export class ServiceMetrics implements Observer, Disposable {
  readonly #sources: MetricsSources;
  readonly #startedAt = performance.now();
  readonly #loop: ReturnType<typeof monitorEventLoopDelay>;
  /** A registry spells one format, and OpenMetrics renames the counters that it spells: each has its own meters. */
  readonly #formats: Readonly<Record<MetricsFormat, { registry: Registry; meters: Instruments; cpuSeconds: number }>>;
  readonly #meters: readonly Instruments[];

  constructor(sources: MetricsSources) {
    this.#sources = sources;
    this.#formats = {
      text: format(METRICS_MEDIA_TYPES.text),
      openmetrics: format(METRICS_MEDIA_TYPES.openmetrics),
    };
    this.#meters = METRICS_FORMATS.map((name) => this.#formats[name].meters);
    this.#loop = monitorEventLoopDelay({ resolution: loopResolutionMilliseconds });
    this.#loop.enable();
  }

  [Symbol.dispose](): void {
    this.#loop.disable();
  }

  /** Everything as text. A ledger that does not answer leaves what it would say out. */
  async render(name: MetricsFormat): Promise<string> {
    const { registry, meters } = this.#formats[name];
    this.#readService(meters);
    this.#readProcess(name);
    await this.#readLedger(meters);
    return await registry.metrics();
  }

  requestBegan(_request: unknown, proceed: () => void): void {
    proceed();
  }

  requestAnswered({ method, route, status, seconds }: AnsweredRequest): void {
    const labels = routeLabels(method, route);
    for (const { requests, requestDuration } of this.#meters) {
      requests.inc({ ...labels, status: status ?? ABORTED });
      if (labels.route !== UNROUTED) requestDuration.observe(labels, seconds);
    }
  }

  headRefused(status: number): void {
    for (const { headsRefused } of this.#meters) headsRefused.inc({ status });
  }

  connectionRefused(): void {
    for (const { connectionsRefused } of this.#meters) connectionsRefused.inc();
  }

  jobAdmitted({ language }: AdmittedJob): void {
    for (const { jobsAdmitted } of this.#meters) jobsAdmitted.inc({ language });
  }

  sandboxPrepared({ seconds, isReady }: PreparedSandbox): void {
    const result = isReady ? 'ready' : 'failed';
    for (const { sandboxPrepare } of this.#meters) sandboxPrepare.observe({ result }, seconds);
  }

  changeCommitted(seconds: number): void {
    for (const { storeCommit } of this.#meters) storeCommit.observe(seconds);
  }

  jobEnded({ language, status, created_at, started_at, duration_ms }: EndedJob): void {
    for (const { jobsEnded, jobDuration, queueSeconds } of this.#meters) {
      jobsEnded.inc({ language, status });
      if (duration_ms !== null) jobDuration.observe({ language }, duration_ms / 1000);
      if (started_at !== null) queueSeconds.observe(secondsBetween(created_at, started_at));
    }
  }

  #readService(meters: Instruments): void {
    const { version, backend, isolation_class, queueCapacity, slots, permits } = this.#sources;
    meters.build.set({ version, backend, isolation_class }, 1);
    meters.uptime.set((performance.now() - this.#startedAt) / 1000);
    meters.draining.set(this.#sources.isDraining() ? 1 : 0);
    meters.queueCapacity.set(queueCapacity);
    meters.slots.set(slots);
    for (const { kind, limit, held } of permits) {
      meters.permitsMax.set({ kind }, limit);
      meters.permits.set({ kind }, held());
    }
  }

  /** A counter only goes up: what was told at the last scrape of this format is taken off. */
  #readProcess(name: MetricsFormat): void {
    const kept = this.#formats[name];
    const { user, system } = process.cpuUsage();
    const cpuSeconds = (user + system) / 1e6;
    kept.meters.cpu.inc(Math.max(0, cpuSeconds - kept.cpuSeconds));
    kept.cpuSeconds = cpuSeconds;
    const { rss, heapUsed } = process.memoryUsage();
    kept.meters.memory.set(rss);
    kept.meters.heap.set(heapUsed);
    kept.meters.startTime.set(performance.timeOrigin / 1000);
    kept.meters.loopDelay.set(this.#loop.count > 0 ? this.#loop.percentile(99) / 1e9 : 0);
    this.#loop.reset();
  }

  async #readLedger({ storeReady, queued, running, oldestQueued, outbox }: Instruments): Promise<void> {
    const counts = await this.#sources.counts().catch(() => null);
    storeReady.set(counts === null ? 0 : 1);
    if (counts === null) {
      for (const meter of [queued, running, oldestQueued, outbox]) meter.remove();
      return;
    }
    queued.set(counts.queued);
    running.set(counts.running);
    outbox.set(counts.outbox);
    const { oldest_queued_at } = counts;
    oldestQueued.set(oldest_queued_at === null ? 0 : secondsBetween(oldest_queued_at, new Date().toISOString()));
  }
}

function format(contentType: ConstructorParameters<typeof Registry>[0]) {
  const registry = new Registry(contentType);
  return { registry, meters: createInstruments(registry), cpuSeconds: 0 };
}

/** Never negative: the host's clock may have been set back in between. */
function secondsBetween(from: string, to: string): number {
  return Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
}
