/**
 * The metrics for the whole service, read with the operator's own token. Events are counted as they happen, and gauges are read
 * at each scrape. No label names a tenant, a job or a caller. These metrics are not a billing ledger. Spec § Other routes.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry } from '@prometheus-io/client';
import { ABORTED, createInstruments, type Instruments, routeLabels, UNROUTED } from './instruments.ts';
import { type MetricsFormat, openMetricsOf } from './metrics-format.ts';
import type { AdmittedJob, AnsweredRequest, CellPreparation, EndedJob, Observer } from './observer.ts';

/** The store's figures about its jobs. */
export interface JobCounts {
  readonly queued: number;
  readonly running: number;
  readonly oldest_queued_at: string | null;
  readonly outbox: number;
}

/** How many contents must still be moved to the object store, and how many objects must still be removed from it. */
export interface ObjectCounts {
  readonly to_move: number;
  readonly to_remove: number;
}

/** The sizes of the log, and its count of waiting statements. */
export interface LogFigures {
  readonly size: number;
  readonly signed_size: number;
  readonly waiting: number;
}

/** One kind of permit: how many permits there are, and how many are held now. */
export interface PermitSource {
  readonly kind: string;
  readonly limit: number;
  readonly held: () => number;
}

/** Figures about parked cells, and about how earlier parked cells were used or lost. */
export interface ParkingCounts {
  readonly bytes: number;
  readonly bytesMax: number;
  readonly cells: ReadonlyMap<string, number>;
  readonly taken: Readonly<Record<'parked' | 'awaited' | 'cold', number>>;
  readonly lost: Readonly<Record<'died' | 'changed' | 'surplus', number>>;
}

/** How this node sees the nodes of a service with several nodes. */
export interface FleetFigures {
  /** The number of living nodes, keyed by role. */
  readonly nodes: ReadonlyMap<string, number>;
  readonly slots: number;
  readonly claims: number;
  /** How many times this node renewed its lease late. */
  readonly lateBeats: number;
}

/** Facts that do not change while the service runs, and figures that are read at every scrape. */
export interface MetricsSources {
  readonly version: string;
  readonly backend: string;
  readonly isolation_class: string;
  readonly queueCapacity: number;
  readonly slots: number;
  readonly permits: readonly PermitSource[];
  parking(): ParkingCounts;
  /** The fleet's figures; null in a service without a fleet. */
  fleet(): (FleetFigures & { readonly recoveredJobs: number }) | null;
  isDraining(): boolean;
  /** The store's counts of jobs. Rejects if the store does not answer. */
  counts(): Promise<JobCounts>;
  /** The sizes of the log, and its count of waiting statements; null if no log was opened yet. Absent if no log is kept. */
  logFigures?(): Promise<LogFigures | null>;
  /** The numbers of contents and objects that wait for the object store. Absent if there is no object store. */
  objectCounts?(): Promise<ObjectCounts>;
  /** How often a needed object was missing, or differed from what was put there. */
  objectProblems(): Readonly<Record<'missing' | 'damaged', number>>;
}

const loopResolutionMilliseconds = 20;

/** A service's metrics. They count from their creation until they are disposed. */
export class ServiceMetrics implements Observer, Disposable {
  readonly #sources: MetricsSources;
  readonly #startedAt = performance.now();
  readonly #loop: ReturnType<typeof monitorEventLoopDelay>;
  readonly #registry = new Registry();
  readonly #meters: Instruments;
  /** The sums at the last scrape, keyed by name. A counter can only be increased, so it gets the sum's growth since then. */
  readonly #sums = new Map<string, number>();

  constructor(sources: MetricsSources) {
    this.#sources = sources;
    this.#meters = createInstruments(this.#registry);
    this.#loop = monitorEventLoopDelay({ resolution: loopResolutionMilliseconds });
    this.#loop.enable();
  }

  [Symbol.dispose](): void {
    this.#loop.disable();
  }

  /** All metrics as text. If the store does not answer, its series are left out. */
  async render(format: MetricsFormat): Promise<string> {
    this.#readService();
    this.#readProcess();
    this.#readParking();
    this.#readFleet();
    await this.#readObjects();
    await this.#readLog();
    await this.#readStore();
    const text = await this.#registry.metrics();
    return format === 'text' ? text : openMetricsOf(text);
  }

  requestBegan(_request: unknown, proceed: () => void): void {
    proceed();
  }

  requestAnswered({ method, route, status, seconds }: AnsweredRequest): void {
    const { requests, requestDuration } = this.#meters;
    const labels = routeLabels(method, route);
    requests.inc({ ...labels, status: status ?? ABORTED });
    if (labels.route !== UNROUTED) requestDuration.observe(labels, seconds);
  }

  headRefused(status: number): void {
    this.#meters.headsRefused.inc({ status });
  }

  connectionRefused(): void {
    this.#meters.connectionsRefused.inc();
  }

  jobAdmitted({ language }: AdmittedJob): void {
    this.#meters.jobsAdmitted.inc({ language });
  }

  cellPrepared({ seconds, isReady }: CellPreparation): void {
    this.#meters.sandboxPrepare.observe({ result: isReady ? 'ready' : 'failed' }, seconds);
  }

  changeCommitted(seconds: number): void {
    this.#meters.storeCommit.observe(seconds);
  }

  jobEnded({ language, status, created_at, started_at, duration_ms }: EndedJob): void {
    const { jobsEnded, jobDuration, queueSeconds } = this.#meters;
    jobsEnded.inc({ language, status });
    if (duration_ms !== null) jobDuration.observe({ language }, duration_ms / 1000);
    if (started_at !== null) queueSeconds.observe(secondsBetween(created_at, started_at));
  }

  #readService(): void {
    const meters = this.#meters;
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

  #readProcess(): void {
    const meters = this.#meters;
    const { user, system } = process.cpuUsage();
    meters.cpu.inc(this.#since('cpu', (user + system) / 1e6));
    const { rss, heapUsed } = process.memoryUsage();
    meters.memory.set(rss);
    meters.heap.set(heapUsed);
    meters.startTime.set(performance.timeOrigin / 1000);
    meters.loopDelay.set(this.#loop.count > 0 ? this.#loop.percentile(99) / 1e9 : 0);
    this.#loop.reset();
  }

  #readParking(): void {
    const { parkedCells, parkedBytes, parkedBytesMax, cellsTaken, cellsLost } = this.#meters;
    const { bytes, bytesMax, cells, taken, lost } = this.#sources.parking();
    parkedBytes.set(bytes);
    parkedBytesMax.set(bytesMax);
    for (const [language, count] of cells) parkedCells.set({ language }, count);
    for (const [how, count] of Object.entries(taken)) cellsTaken.inc({ how }, this.#since(`taken ${how}`, count));
    for (const [why, count] of Object.entries(lost)) cellsLost.inc({ why }, this.#since(`lost ${why}`, count));
  }

  #readFleet(): void {
    const { fleetNodes, fleetSlots, fleetClaims, lateBeats, recoveredJobs } = this.#meters;
    const fleet = this.#sources.fleet();
    if (fleet === null) return;
    for (const [role, count] of fleet.nodes) fleetNodes.set({ role }, count);
    fleetSlots.set(fleet.slots);
    fleetClaims.set(fleet.claims);
    lateBeats.inc(this.#since('late beats', fleet.lateBeats));
    recoveredJobs.inc(this.#since('recovered jobs', fleet.recoveredJobs));
  }

  async #readObjects(): Promise<void> {
    const { contentsToMove, objectsToRemove, objectProblems } = this.#meters;
    for (const [problem, count] of Object.entries(this.#sources.objectProblems())) {
      objectProblems.inc({ problem }, this.#since(`object ${problem}`, count));
    }
    const counts = (await this.#sources.objectCounts?.().catch(() => null)) ?? null;
    if (counts === null) {
      for (const meter of [contentsToMove, objectsToRemove]) meter.remove();
      return;
    }
    contentsToMove.set(counts.to_move);
    objectsToRemove.set(counts.to_remove);
  }

  async #readLog(): Promise<void> {
    const { logLeaves, logSignedLeaves, logWaiting } = this.#meters;
    const figures = (await this.#sources.logFigures?.().catch(() => null)) ?? null;
    if (figures === null) {
      for (const meter of [logLeaves, logSignedLeaves, logWaiting]) meter.remove();
      return;
    }
    logLeaves.set(figures.size);
    logSignedLeaves.set(figures.signed_size);
    logWaiting.set(figures.waiting);
  }

  /** How much a sum has grown since the last scrape. */
  #since(name: string, sum: number): number {
    const before = this.#sums.get(name) ?? 0;
    this.#sums.set(name, sum);
    return Math.max(0, sum - before);
  }

  async #readStore(): Promise<void> {
    const { storeReady, queued, running, oldestQueued, outbox } = this.#meters;
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

/** The seconds between two times. Never negative, even if the host's clock was set back in between. */
function secondsBetween(from: string, to: string): number {
  return Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
}
