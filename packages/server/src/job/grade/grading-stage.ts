/**
 * Makes jobs from the rows of gradings as slots become free, and follows each job to its end. The whole state is in the
 * store, so the work continues from the rows after a restart or on another node. A tenant never has more queued and
 * running jobs from gradings than there are slots; a job whose program has ended may make room for the next one before its
 * end is stored. A tenant's gradings take turns; the queue decides between tenants.
 */
import type { ProgramState } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import { pause } from '../../ground/waiting/pause.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import { within } from '../../ground/waiting/within.ts';
import { blobsNamed } from '../../store/blobs/blobs-named.ts';
import type { GradedEnd, ProgramEnd } from '../../store/records/gradings.ts';
import type { Store } from '../../store/store.ts';
import { StoreError } from '../../store/store-error.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { type AdmitOptions, admitGraded, NoRoom } from '../admit/admit.ts';
import { cancel } from '../dispatch/cancel.ts';
import type { Dispatching } from '../dispatch/queue-only.ts';
import { persistently } from '../finish/persistently.ts';
import type { History } from '../history.ts';
import type { Nudges } from '../nudges.ts';
import { type GradedJobsOptions, GradingProblem, specOf, verdictOf } from './graded-jobs.ts';
import { planOf } from './grading-plan.ts';
import { GradingWork, type NextJob } from './grading-work.ts';
import { endOf } from './job-ends.ts';
import { PlanRun, type StepJob } from './plan-run.ts';
import type { JobEnd, PlannedJob } from './program-run.ts';
import { type StepSpecs, stepSpecs } from './step-jobs.ts';

export interface GradingStageOptions
  extends Omit<GradedJobsOptions, 'store' | 'history'>,
    Pick<AdmitOptions, 'own' | 'others' | 'ceilings' | 'blobBytesMax' | 'isNumbered' | 'promises' | 'checkFreeSpace'> {
  readonly store: Store;
  readonly history: History;
  readonly dispatcher: Pick<Dispatching, 'admit' | 'stop'>;
  readonly nudges: Nudges;
  /** Only this process's own nudges. */
  readonly ownNudges: Nudges;
  readonly log: Log;
  /** How many jobs from gradings may run at once, on all nodes. */
  readonly slots: () => number;
  /** Whether it is this node that makes the jobs of gradings. */
  readonly isOurTurn: () => boolean;
}

/** How often this node looks for gradings that other nodes may have accepted. */
const lookMilliseconds = 5000;
/** How long this node waits after a failure of the store. */
const failedMilliseconds = 1000;
/** The most gradings in memory: `gradingsOfTenantMax` of one tenant, `gradingsMax` of all tenants together. */
const gradingsOfTenantMax = 8;
const gradingsMax = 64;
/** How often work is tried again after a failure that the store did not cause. */
const attemptsMax = 8;

export class GradingStage implements AsyncDisposable {
  readonly #options: GradingStageOptions;
  readonly #works = new Map<string, GradingWork>();
  readonly #stopping = new AbortController();
  readonly #loop = new StandingLoop((signal) => this.#lookWhenNudged(signal));
  readonly #followed = new Set<Promise<void>>();
  #turn = 0;

  constructor(options: GradingStageOptions) {
    this.#options = options;
  }

  /** Begins to make jobs; a second call has no effect. */
  start(): void {
    this.#loop.start();
  }

  /** Makes no more jobs. Existing jobs continue, and are followed at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#loop[Symbol.asyncDispose]();
    await Promise.all(this.#followed);
  }

  async #lookWhenNudged(signal: AbortSignal): Promise<void> {
    const { nudges, ownNudges, store, isOurTurn, log } = this.#options;
    // Messages from other nodes arrive together with this process's own nudges.
    using nudge = ownNudges.next('gradings', signal);
    try {
      if (isOurTurn()) await this.#look();
      else this.#works.clear();
    } catch (error) {
      log.error({ err: error }, 'gradings could not be read');
      await pause(failedMilliseconds, signal);
      nudges.send('gradings');
    }
    await (store.fleet ? within(nudge.arrived, lookMilliseconds, undefined) : nudge.arrived);
  }

  /** Reads the gradings that arrived or were cancelled since the last look, and makes jobs. */
  async #look(): Promise<void> {
    const { store } = this.#options;
    const running = await store.runningGradings();
    const known = new Set(running.map(({ grading_id }) => grading_id));
    for (const [id, work] of this.#works) if (!known.has(id) && work.underWay.size === 0) this.#works.delete(id);
    for (const row of running) {
      const isDue = row.cancellation_requested || this.#hasRoom(row.tenant);
      const work = this.#works.get(row.grading_id) ?? (isDue ? await this.#load(row) : null);
      if (work === null || !row.cancellation_requested) continue;
      work.isCancelled = true;
      await this.#stopJobs(work);
      await this.#settle(work);
    }
    this.#plan();
  }

  #hasRoom(tenant: string): boolean {
    const ofTenant = [...this.#works.values()].filter((work) => work.tenant === tenant).length;
    return ofTenant < gradingsOfTenantMax && this.#works.size < gradingsMax;
  }

  async #load(key: { tenant: string; grading_id: string }): Promise<GradingWork | null> {
    const stored = await this.#options.store.gradingWork({ tenant: key.tenant, grading_id: key.grading_id });
    if (stored === null) return null;
    const work = new GradingWork(stored, await planOf(stored, this.#options));
    this.#works.set(work.grading_id, work);
    return work;
  }

  /** Makes and follows jobs, with gradings taking turns, until slots or rows are used up. */
  #plan(): void {
    if (this.#stopping.signal.aborted || !this.#options.isOurTurn()) return;
    const idle = new Set<GradingWork>();
    for (;;) {
      const work = this.#nextWork(idle);
      if (work === null) return;
      const next = work.next();
      if (next === null) {
        idle.add(work);
        continue;
      }
      work.lastTurn = ++this.#turn;
      work.underWay.set(next.planned, next.job_id);
      const following = this.#followOrForget(work, next).finally(() => this.#followed.delete(following));
      this.#followed.add(following);
    }
  }

  #nextWork(idle: ReadonlySet<GradingWork>): GradingWork | null {
    const slots = Math.max(1, this.#options.slots());
    const load = new Map<string, number>();
    for (const work of this.#works.values()) load.set(work.tenant, (load.get(work.tenant) ?? 0) + work.load);
    const open = [...this.#works.values()].filter((work) => !idle.has(work) && (load.get(work.tenant) ?? 0) < slots);
    const [first] = open.toSorted((one, other) => one.load - other.load || one.lastTurn - other.lastTurn);
    return first ?? null;
  }

  /** Follows a job. If the store does not accept a change now, forgets the grading; later it is begun again from the store. */
  async #followOrForget(work: GradingWork, next: NextJob): Promise<void> {
    const { log, ownNudges } = this.#options;
    const { signal } = this.#stopping;
    try {
      await this.#follow(work, next);
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error, grading_id: work.grading_id }, 'a grading is read again');
      if (this.#works.get(work.grading_id) === work) this.#works.delete(work.grading_id);
      await pause(failedMilliseconds, signal);
      ownNudges.send('gradings');
    }
  }

  async #follow(work: GradingWork, next: NextJob): Promise<void> {
    const { planned } = next;
    const { signal } = this.#stopping;
    try {
      const job_id = next.job_id ?? (await this.#made(work, next));
      if (job_id !== null) await this.#followJob(work, { ...next, job_id });
      else work.isCancelled = true;
    } catch (error) {
      if (signal.aborted || error instanceof StoreError) throw error;
      await this.#fail(work, planned.program, error);
    } finally {
      work.underWay.delete(planned);
      work.storing.delete(planned);
    }
    await this.#settle(work);
    this.#plan();
  }

  /** Makes the job and returns its id; null if the grading makes no more jobs. */
  async #made(work: GradingWork, { planned, run }: NextJob): Promise<string | null> {
    const { tenant, principal, grading_id } = work;
    const { program, name, attempt } = planned;
    for (;;) {
      try {
        return await this.#persistently(async () => {
          const specs = await this.#specsOf(work, planned, run);
          if (planned.purpose === 'judge') work.held.set(program, blobsNamed(specs.spec.files));
          const graded = { grading_id, program, name, attempt };
          const makesNext = () => run.mayRunAhead && this.#planAhead(work, planned);
          return await admitGraded({ tenant, principal, ...specs, graded, makesNext }, this.#options);
        });
      } catch (error) {
        if (!(error instanceof ServiceError && error.retryable) || work.isCancelled) throw error;
        await pause((error.retryAfterSeconds ?? 1) * 1000, this.#stopping.signal);
        this.#stopping.signal.throwIfAborted();
      }
    }
  }

  /** Plans the next job when a job's program has ended, before that end is stored. Returns whether there is a next job. */
  #planAhead(work: GradingWork, planned: PlannedJob): boolean {
    if (!work.underWay.has(planned)) return false;
    const before = this.#turn;
    work.storing.add(planned);
    try {
      this.#plan();
    } catch (error) {
      // The job's own end must be stored whatever happens. Once it is stored, the next job is planned again.
      this.#options.log.error({ err: error, grading_id: work.grading_id }, 'the next job of a grading was not planned');
    }
    return this.#turn > before;
  }

  async #specsOf(work: GradingWork, planned: PlannedJob, run: NextJob['run']): Promise<StepSpecs> {
    if (run instanceof PlanRun) return await stepSpecs(work, planned as StepJob, this.#options);
    return { spec: await specOf(work, planned, { ...this.#options, run }) };
  }

  async #followJob(work: GradingWork, { planned, run, job_id }: NextJob & { readonly job_id: string }): Promise<void> {
    const { signal } = this.#stopping;
    const key = { tenant: work.tenant, job_id };
    work.underWay.set(planned, job_id);
    if (work.isCancelled) await this.#stopJob(work, job_id);
    let end: JobEnd | null = null;
    while (end === null) {
      await this.#options.history.ended(key, signal);
      signal.throwIfAborted();
      end = await this.#persistently(() => endOf(key, { ...this.#options, hasSteps: run instanceof PlanRun }));
    }
    const verdict = planned.purpose === 'judge' ? await this.#verdict(key, end) : null;
    const isFinal = run.ended(
      planned,
      planned.purpose === 'judge' && verdict === null ? { ...end, isFailure: true } : end,
    );
    const job = this.#recordOf(work, { planned, end, isFinal });
    if (verdict !== null)
      await this.#endProgram(work, planned.program, { status: 'judged', verdict, problem: null, job });
    else await this.#endJob(work, planned, job);
    if (verdict === null && planned.purpose === 'judge' && isFinal)
      throw new GradingProblem(`${job_id} gave no verdict`);
  }

  #recordOf(
    { tenant, grading_id, heads }: GradingWork,
    { planned, end, isFinal }: { readonly planned: PlannedJob; readonly end: JobEnd; readonly isFinal: boolean },
  ): GradedEnd {
    const { program, name, attempt, test, purpose } = planned;
    const { job_id, terminal_reason } = end;
    return {
      tenant,
      grading_id,
      program,
      name,
      attempt,
      job_id,
      terminal_reason,
      at: new Date().toISOString(),
      test: test === null ? null : (heads[test]?.name ?? null),
      isRun: purpose === 'test' && isFinal && !name.endsWith(' again'),
    };
  }

  /** Stores a job's end. If the program's end made no next job, one is made meanwhile, so that no slot waits for the disk. */
  async #endJob(work: GradingWork, planned: PlannedJob, job: GradedEnd): Promise<void> {
    const { store, nudges } = this.#options;
    const stored = this.#persistently(() => store.endGradedJob(job));
    work.storing.add(planned);
    try {
      this.#plan();
    } finally {
      await stored;
    }
    nudges.send(`grading ${work.grading_id}`);
  }

  #verdict(key: { tenant: string; job_id: string }, end: JobEnd) {
    if (end.terminal_reason === null) return null;
    return this.#persistently(() => verdictOf(key, end.receipt_sha256, this.#options));
  }

  /** Ends a program that cannot be graded, and states the reason. The other programs continue. */
  async #fail(work: GradingWork, program: number, error: unknown): Promise<void> {
    const { log } = this.#options;
    const isKnown = isFinal(error);
    if (!isKnown) log.error({ err: error, grading_id: work.grading_id, program }, 'a program could not be graded');
    const problem = isKnown ? error.message : 'The service failed.';
    await this.#endProgram(work, program, { status: 'failed', verdict: null, problem });
  }

  async #endProgram(
    work: GradingWork,
    program: number,
    end: Pick<ProgramState, 'verdict' | 'problem'> & Pick<ProgramEnd, 'status' | 'job'>,
  ): Promise<void> {
    const { store, nudges, ownNudges } = this.#options;
    const { tenant, grading_id } = work;
    const { status, job, ...ended } = end;
    const isOver = await this.#persistently(() =>
      store.endProgram({
        tenant,
        grading_id,
        program,
        status,
        ...(job !== undefined && { job }),
        ended: JSON.stringify(ended),
        held: work.held.get(program) ?? [],
        at: new Date().toISOString(),
      }),
    );
    work.over(program);
    nudges.send(`grading ${grading_id}`);
    if (!isOver) return;
    nudges.send(`end ${grading_id}`);
    this.#works.delete(grading_id);
    // There is room for another job.
    ownNudges.send('gradings');
  }

  /** Ends a grading whose end was requested, once none of its jobs is in progress. */
  async #settle(work: GradingWork): Promise<void> {
    if (!work.isCancelled || work.underWay.size > 0 || this.#stopping.signal.aborted) return;
    for (const program of [...work.waiting]) {
      await this.#endProgram(work, program, { status: 'cancelled', verdict: null, problem: null });
    }
  }

  async #stopJobs(work: GradingWork): Promise<void> {
    for (const job_id of work.underWay.values()) if (job_id !== null) await this.#stopJob(work, job_id);
  }

  async #stopJob({ tenant, principal }: GradingWork, job_id: string): Promise<void> {
    await cancel({ tenant, job_id, principal }, this.#options);
  }

  #persistently<T>(attempt: () => Promise<T>): Promise<T> {
    const { log } = this.#options;
    const failed = (error: unknown) => log.warn({ err: error }, 'a step of a grading is tried again');
    const { signal } = this.#stopping;
    return persistently(attempt, { signal, attemptsMax, failed, isFinal });
  }
}

/** Whether an error is a refusal: an answer, not a failure. */
function isFinal(error: unknown): error is Error {
  return error instanceof ServiceError || error instanceof GradingProblem || error instanceof NoRoom;
}
