/**
 * Gives queued jobs a slot: as many at once as the service may run and the disk has room for, as much memory together as
 * they may have, in the order the store says. While no cell can be made, all of them wait. One loop, woken by a nudge, by
 * a freed slot and by a slow timer, since nobody says when a disk has room again; it reads what it needs from the store
 * each time.
 */
import type { StopCause } from '../../sandbox/sandbox.ts';
import type { QueuedJob } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import { arrivedWithin } from '../arrived-within.ts';
import type { History } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import type { Cells } from './cells.ts';
import { type Flight, launch } from './flight.ts';

export interface DispatcherOptions {
  readonly store: Store;
  readonly history: History;
  readonly nudges: Nudges;
  readonly cells: Cells;
  readonly log: Log;
  readonly concurrency: number;
  /** Jobs of one tenant that may be in flight; null leaves one slot to others once there are others. */
  readonly tenantConcurrency: number | null;
  /** How many jobs may be in flight with the disk as it is; rejects where that cannot be known. */
  readonly roomForJobs: () => Promise<number>;
  /** MiB that the memory limits of all jobs in flight, and what their cells take beside, may add up to. */
  readonly concurrentMemMbMax: number;
  /** MiB that a cell takes beside its job's memory limit. A job that is alone may have its whole limit all the same. */
  readonly cellMemMb: number;
  /** How long started jobs may go on after the dispatcher was told to stop. */
  readonly drainSeconds: number;
}

/** The loop looks at the queue at least this often. */
const recheckMilliseconds = 5000;
/** After a job was stopped by force, how long its end may take to be collected and stored. */
const landingMilliseconds = 2000;

/** Runs the queue from `start` until it is disposed. */
export class Dispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #flights = new Map<string, Flight>();
  readonly #stopping = new AbortController();
  readonly #giveUp = new AbortController();
  #loop: Promise<void> | null = null;
  #isRoom = true;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Begins to take jobs; without effect a second time. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Jobs that hold a slot, being prepared or running. */
  get inFlight(): number {
    return this.#flights.size;
  }

  /** Ends a job that holds a slot; without effect on any other. */
  stop(job_id: string, cause: StopCause): void {
    this.#flights.get(job_id)?.stop(cause);
  }

  /**
   * Takes no more jobs, lets started ones go on for `drainSeconds`, then ends them as `server_shutdown`. Jobs that had not
   * started stay queued. Resolves when every slot is free, or when what is left must be recovered at the next start.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#stopFlights((flight) => !flight.hasStarted());
    await this.#loop;
    await this.#landed(this.#options.drainSeconds * 1000);
    this.#stopFlights(() => true);
    await this.#landed(landingMilliseconds);
    this.#giveUp.abort();
    await this.#landed(landingMilliseconds);
    const left = [...this.#flights.keys()];
    if (left.length > 0) this.#options.log.error({ jobs: left }, 'jobs did not end; the next start recovers them');
  }

  async #run(): Promise<void> {
    const { nudges, log } = this.#options;
    while (!this.#stopping.signal.aborted) {
      using nudge = nudges.next('queue', this.#stopping.signal);
      try {
        await this.#fill();
      } catch (error) {
        log.error({ err: error }, 'no job could be started');
      }
      await arrivedWithin(nudge.arrived, recheckMilliseconds);
    }
  }

  /** Launches queued jobs while slots and memory last. The first that does not fit waits, and nothing passes it. */
  async #fill(): Promise<void> {
    const { store, concurrency, tenantConcurrency } = this.#options;
    const free = (await this.#slots()) - this.#flights.size;
    if (free <= 0) return;
    const exclude = [...this.#flights.keys()];
    const jobs = await store.queuedJobs({ exclude, limit: free, slots: concurrency, tenantSlots: tenantConcurrency });
    for (const job of jobs) {
      if (this.#stopping.signal.aborted) return;
      if (!this.#fits(job)) return;
      this.#launch(job);
    }
  }

  /** Whether the job may be launched. One that is larger than the whole bound, which was lowered, ends without running. */
  #fits(job: QueuedJob): boolean {
    const { concurrentMemMbMax, cellMemMb } = this.#options;
    const memMb = this.#memMb();
    return memMb === 0 || job.mem_mb > concurrentMemMbMax || memMb + job.mem_mb + cellMemMb <= concurrentMemMbMax;
  }

  /** How many jobs may be in flight now. */
  async #slots(): Promise<number> {
    const { cells, concurrency, roomForJobs, log } = this.#options;
    const room = await roomForJobs();
    if (this.#isRoom && room === 0) log.warn('no job is started: the free-space reserve is not free');
    if (!this.#isRoom && room > 0) log.info('jobs are started again: the free-space reserve is free');
    this.#isRoom = room > 0;
    return cells.isReady() ? Math.min(concurrency, room) : 0;
  }

  #launch(job: QueuedJob): void {
    const flight = launch(job, { ...this.#options, giveUp: this.#giveUp.signal });
    this.#flights.set(job.job_id, flight);
    void flight.landed.then(() => {
      this.#flights.delete(job.job_id);
      this.#options.nudges.send('queue');
    });
  }

  /** What the cells of all flights may take. A job that is too large to run takes nothing. */
  #memMb(): number {
    const { concurrentMemMbMax, cellMemMb } = this.#options;
    let sum = 0;
    for (const { job } of this.#flights.values()) {
      if (job.mem_mb <= concurrentMemMbMax) sum += job.mem_mb + cellMemMb;
    }
    return sum;
  }

  #stopFlights(which: (flight: Flight) => boolean): void {
    for (const flight of this.#flights.values()) if (which(flight)) flight.stop('server_shutdown');
  }

  async #landed(milliseconds: number): Promise<void> {
    if (this.#flights.size === 0) return;
    await arrivedWithin(Promise.all([...this.#flights.values()].map((flight) => flight.landed)), milliseconds);
  }
}
