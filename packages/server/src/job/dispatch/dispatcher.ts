/**
 * Gives slots to jobs, in the order that the store chooses. How many jobs run at once depends on the number of slots, the disk
 * space and the memory. While no cell can be made, all jobs wait. One loop gives the slots. A nudge, a freed slot or a slow timer
 * wakes the loop, and the loop then reads the store. The timer is needed because no event says that a disk has room again.
 *
 * If a slot and a parked cell are free and no other job waits, a submission starts at once: the transaction that accepts the
 * job stores it as running.
 */

import { setImmediate } from 'node:timers/promises';
import type { JobMemory } from '../../capacity/job-memory.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import { within } from '../../ground/waiting/within.ts';
import type { PreparedCell, StopCause } from '../../sandbox/sandbox.ts';
import type { AdmitResult, ChosenJob } from '../../store/records/answers.ts';
import type { Abilities, AdmitInput } from '../../store/records/inputs.ts';
import { PAIR_SLOTS, type QueuedJob } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { OutputKeeping } from '../artifact-content.ts';
import type { Beside } from '../beside.ts';
import { type Cells, kindFor } from '../execute/cells.ts';
import { launch, launchAtOnce } from '../execute/launch.ts';
import { launchPair } from '../execute/launch-pair.ts';
import type { LaunchedJob } from '../execute/launched-job.ts';
import { keptProducts } from '../execute/run-program.ts';
import type { History } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import type { SchemaChecks } from '../tools/schema-checks.ts';
import { ForgottenJobs } from './forgotten-jobs.ts';
import { QueueKnowledge } from './queue-knowledge.ts';

export interface DispatcherOptions {
  readonly store: Store;
  readonly history: History;
  readonly blobs: OutputKeeping;
  readonly nudges: Nudges;
  readonly cells: Cells;
  readonly schemas: Pick<SchemaChecks, 'misfit'>;
  readonly beside?: Beside;
  readonly log: Log;
  readonly concurrency: number;
  /** How many jobs of one tenant may be in flight. Null means all slots until a second tenant exists, and then all but one. */
  readonly tenantConcurrency: number | null;
  /** How many jobs may be in flight with the present free space. Throws if the file system does not answer. */
  readonly roomForJobs: () => number;
  readonly memory: JobMemory;
  /** How many programs of gradings' jobs may run at once. More programs than processors would slow each other down. */
  readonly testsMax: number;
  /** This node's abilities, for a store that several nodes share. */
  readonly abilities?: () => Abilities;
  /** How long jobs that have started may continue after the dispatcher is told to stop. */
  readonly drainSeconds: number;
}

/** The longest time between two looks at the queue. */
const recheckMilliseconds = 5000;
/** How long a submission waits while the cell in its slot is being taken down. */
const leavingMillisecondsMax = 50;
/** How long the service may take to collect and store a job's end after the job was stopped by force. */
const endingMilliseconds = 2000;

/** Runs the queue from `start` until it is disposed. */
export class Dispatcher implements AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #launched = new Map<string, LaunchedJob>();
  /** The ids of jobs that run beside the slots. These jobs hold no slot, and do not use up a tenant's turn. */
  readonly #beside = new Set<string>();
  readonly #queue = new QueueKnowledge();
  readonly #products = keptProducts();
  readonly #giveUp = new AbortController();
  readonly #loop = new StandingLoop((signal) => this.#fillWhenNudged(signal));
  readonly #forgotten: ForgottenJobs | null;
  #isRoom = true;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const isKnown = (job_id: string) => this.#launched.has(job_id);
    const { fleet } = options.store;
    this.#forgotten = fleet === null ? null : new ForgottenJobs({ ...options, fleet, isKnown });
  }

  /** Begins to take jobs; a second call has no effect. */
  start(): void {
    this.#loop.start();
  }

  /** How many jobs hold a slot because they are being prepared or running. */
  get inFlight(): number {
    return this.#holding().length;
  }

  /** Whether no queued job can start here now. */
  get isFull(): boolean {
    return this.#freeSlots() <= 0;
  }

  /**
   * Stores a submission as running if it can start at once, else as queued. Returns the store's answer. It says `queued`
   * in both cases. `makesNext` is called at the end of a program that started at once, before the end is stored. It returns
   * whether another job is being made.
   */
  async admit(input: AdmitInput, makesNext = () => false): Promise<AdmitResult> {
    let cell = this.#cellAtOnce(input);
    while (cell === null && (await this.#slotWasFreed(input))) cell = this.#cellAtOnce(input);
    const result = cell === null ? null : await this.#admitAtOnce(input, cell, makesNext);
    return result ?? (await this.#queue.enter(() => this.#options.history.admit(input)));
  }

  /**
   * Runs one of the service's own jobs to its end, in a cell made for it. It begins only while no other job waits, and it
   * holds no slot, so no other job ever waits for it. False if it may not begin now, or did not begin.
   */
  async runBeside(input: AdmitInput, prepare: () => Promise<PreparedCell>): Promise<boolean> {
    if (!this.#mayRunBeside()) return false;
    const cell = await prepare();
    if (!this.#mayRunBeside()) {
      await cell[Symbol.asyncDispose]();
      return false;
    }
    const { launched, admitted } = launchAtOnce(input, cell, { ...this.#dependencies(), makesNext: () => false });
    this.#beside.add(input.job_id);
    this.#keep(launched);
    try {
      const isStored = (await admitted)?.kind === 'created';
      await launched.over;
      return isStored;
    } finally {
      this.#beside.delete(input.job_id);
    }
  }

  /** Looks at the queue again, because another node may have added jobs. */
  lookAgain(): void {
    this.#queue.doubt();
    this.#options.nudges.send('queue');
  }

  /** Ends every job by force and stores nothing more about it, because another node has taken it over. */
  abandon(): void {
    this.#loop.stop();
    this.#giveUp.abort();
    this.#stopLaunched(() => true);
  }

  /** Ends a job that holds a slot; a call for any other job has no effect. */
  stop(job_id: string, cause: StopCause): void {
    this.#launched.get(job_id)?.stop(cause);
  }

  /**
   * Takes no more jobs, lets started ones go on for `drainSeconds`, then ends them as `server_shutdown`. Jobs that had not
   * started stay queued. Resolves when every slot is free, or when the remaining jobs must be recovered at the next start.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#loop.stop();
    this.#stopLaunched((launched) => !launched.hasStarted() || this.#beside.has(launched.job.job_id));
    await this.#loop[Symbol.asyncDispose]();
    await this.#haveEnded(this.#options.drainSeconds * 1000);
    this.#stopLaunched(() => true);
    await this.#haveEnded(endingMilliseconds);
    this.#giveUp.abort();
    await this.#haveEnded(endingMilliseconds);
    const left = [...this.#launched.keys()];
    if (left.length > 0) this.#options.log.error({ jobs: left }, 'jobs did not end; the next start recovers them');
  }

  async #fillWhenNudged(signal: AbortSignal): Promise<void> {
    using nudge = this.#options.nudges.next('queue', signal);
    try {
      if (await this.#forgotten?.resolve()) this.#queue.doubt();
      await this.#fill();
    } catch (error) {
      this.#options.log.error({ err: error }, 'no job could be started');
    }
    const hasArrived = await within(
      nudge.arrived.then(() => true),
      recheckMilliseconds,
      false,
    );
    if (!hasArrived) this.#queue.doubt();
    // At the end of this turn of the event loop, the store has all jobs that arrived during the turn, so one read finds them.
    await setImmediate();
  }

  /** Launches queued jobs while slots and memory last. If a job does not fit, it waits, and no later job overtakes it. */
  async #fill(): Promise<void> {
    if (this.#queue.isSurelyEmpty) return;
    const { store, concurrency: slots, tenantConcurrency: tenantSlots, abilities } = this.#options;
    const limit = this.#freeSlots();
    if (limit <= 0) return;
    const found = this.#queue.look();
    const exclude = [...this.#launched.keys()];
    const { jobs, ...answer } = await store.queuedJobs({
      exclude,
      held: this.#heldByTenant(),
      limit,
      slots,
      tenantSlots,
      tests: this.#freeTests(),
      ...(abilities !== undefined && { abilities: abilities() }),
    });
    const left = this.#launchInTurn(jobs);
    found({ ...answer, isEmpty: left.length === 0 && answer.isEmpty });
    if (left.length > 0) await store.fleet?.releaseJobs(left);
  }

  /** Launches jobs in turn, and returns those not launched: other jobs may have started since these were chosen. */
  #launchInTurn(jobs: readonly ChosenJob[]): readonly ChosenJob[] {
    for (const [at, job] of jobs.entries()) {
      const { peer, ...rest } = job;
      const isTooMany = job.is_test === 1 && this.#freeTests() <= 0;
      // A service that no longer has two slots still launches a pair, and the pair then ends without running.
      const slots = peer === undefined ? 1 : Math.min(PAIR_SLOTS, this.#options.concurrency);
      const mem_mb = job.mem_mb * (peer === undefined ? 1 : PAIR_SLOTS);
      if (!this.#loop.isGoing || this.#freeSlots() < slots || isTooMany || !this.#fits({ mem_mb }))
        return jobs.slice(at);
      const launched =
        peer === undefined ? [launch(rest, this.#dependencies())] : launchPair({ ...rest, peer }, this.#dependencies());
      for (const each of launched) this.#keep(each);
    }
    return [];
  }

  /**
   * If a submission lacks only what a job whose program has ended still holds, waits until that job's cell is gone, because
   * queueing would cost another commit. A caller often submits its next job before the cell of its last job is gone.
   */
  async #slotWasFreed(input: AdmitInput): Promise<boolean> {
    if (!this.#mayStart(input)) return false;
    const { tenant, requested_spec } = input;
    const holding = this.#holding();
    const isAtShare = this.#isAtShare(tenant);
    if (!isAtShare && holding.length < this.#options.concurrency && this.#fits(requested_spec.limits)) return false;
    const freed = holding
      .filter((launched) => launched.isLeaving() && (!isAtShare || launched.job.tenant === tenant))
      .map((launched) => launched.freed.then(() => true));
    return freed.length > 0 && (await within(Promise.race(freed), leavingMillisecondsMax, false));
  }

  /** A parked cell for a submission that may start at once; null if the submission has to wait for anything. */
  #cellAtOnce(input: AdmitInput): PreparedCell | null {
    const { tenant, requested_spec } = input;
    const { limits } = requested_spec;
    const { cells, memory } = this.#options;
    if (!this.#mayStart(input)) return null;
    if (memory.excess(limits.mem_mb) !== null || !this.#fits(limits) || this.#freeSlots() <= 0) return null;
    return this.#isAtShare(tenant) ? null : cells.take(kindFor(requested_spec, tenant));
  }

  /** Whether the submission may start as soon as there are room and a cell for it. A pair always waits in the queue. */
  #mayStart({ graded, interactor }: AdmitInput): boolean {
    if (interactor !== undefined || !this.#loop.isGoing || !this.#queue.isSurelyEmpty) return false;
    return graded === undefined || this.#freeTests() > 0;
  }

  /** Starts a submission at once. Null if it could not start after all; nothing is stored in that case. */
  async #admitAtOnce(input: AdmitInput, cell: PreparedCell, makesNext: () => boolean): Promise<AdmitResult | null> {
    const { launched, admitted } = launchAtOnce(input, cell, { ...this.#dependencies(), makesNext });
    this.#keep(launched);
    return await admitted;
  }

  #dependencies() {
    return { ...this.#options, giveUp: this.#giveUp.signal, products: this.#products };
  }

  #fits({ mem_mb }: Pick<QueuedJob, 'mem_mb'>): boolean {
    const inFlight = this.#holding().map(({ job }) => job);
    return this.#options.memory.fits(mem_mb, inFlight);
  }

  /**
   * How many more jobs may be launched now. A job whose cell is gone holds no slot while its end is being stored. There
   * are never more such jobs than slots, so that unstored ends do not pile up.
   */
  #freeSlots(): number {
    const { cells, concurrency } = this.#options;
    const launched = this.#launched.size - this.#beside.size;
    const free = Math.min(concurrency - this.#holding().length, 2 * concurrency - launched);
    if (free <= 0 || !cells.isReady()) return 0;
    return Math.min(free, this.#room() - launched);
  }

  /** Whether the tenant holds all the slots that it may hold. From here on, the tenant is known to be there. */
  #isAtShare(tenant: string): boolean {
    const { concurrency: slots, tenantConcurrency: tenantSlots } = this.#options;
    return (this.#heldByTenant().get(tenant) ?? 0) >= this.#queue.shareOf(tenant, { slots, tenantSlots });
  }

  #mayRunBeside(): boolean {
    const { cells } = this.#options;
    return this.#loop.isGoing && this.#queue.isSurelyEmpty && cells.isReady() && this.#room() > this.#launched.size;
  }

  /** How many more jobs from gradings may be launched now. A job whose program has ended no longer counts. */
  #freeTests(): number {
    const running = this.#holding().filter((launched) => launched.job.is_test === 1 && !launched.isLeaving());
    return this.#options.testsMax - running.length;
  }

  /** How many jobs may be in flight with the present free space. */
  #room(): number {
    const { roomForJobs, log } = this.#options;
    const room = roomForJobs();
    if (this.#isRoom && room === 0) log.warn('no job is started: the free-space reserve is not free');
    if (!this.#isRoom && room > 0) log.info('jobs are started again: the free-space reserve is free');
    this.#isRoom = room > 0;
    return room;
  }

  /** Gives a job its slot until its cell is gone, and remembers the job until its end is stored. */
  #keep(launched: LaunchedJob): void {
    const { nudges } = this.#options;
    this.#launched.set(launched.job.job_id, launched);
    void launched.freed.then(() => nudges.send('queue'));
    void launched.over.then(() => {
      this.#launched.delete(launched.job.job_id);
      nudges.send('queue');
      if (!launched.hasStarted()) void this.#giveBack(launched);
    });
  }

  /** Gives back a job that did not start and that may still be queued. */
  async #giveBack({ job }: LaunchedJob): Promise<void> {
    const { store, log } = this.#options;
    this.#queue.doubt();
    if (!store.fleet) return;
    await store.fleet
      .releaseJobs([job])
      .catch((err: unknown) => log.error({ err, job_id: job.job_id }, 'a job is held back'));
    this.lookAgain();
  }

  #holding(): LaunchedJob[] {
    return [...this.#launched.values()].filter(
      (launched) => launched.holdsSlot() && !this.#beside.has(launched.job.job_id),
    );
  }

  #heldByTenant(): ReadonlyMap<string, number> {
    const held = new Map<string, number>();
    for (const { job } of this.#holding()) held.set(job.tenant, (held.get(job.tenant) ?? 0) + 1);
    return held;
  }

  #stopLaunched(which: (launched: LaunchedJob) => boolean): void {
    for (const launched of this.#launched.values()) if (which(launched)) launched.stop('server_shutdown');
  }

  async #haveEnded(milliseconds: number): Promise<void> {
    if (this.#launched.size === 0) return;
    const ends = Promise.all([...this.#launched.values()].map((launched) => launched.over));
    await within(ends, milliseconds, null);
  }
}
