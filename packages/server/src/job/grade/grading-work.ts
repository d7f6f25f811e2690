/** One grading while the service works on it, with the programs that have begun and the jobs in progress. */

import type { BuiltProduct } from '../../store/jobs/builds.ts';
import type { GradingWork as StoredWork } from '../../store/records/gradings.ts';
import type { GradingParts } from './graded-jobs.ts';
import type { GradingCommon, StoredProgram, TestHead } from './grading-body.ts';
import type { Planned } from './grading-plan.ts';
import { PlanRun } from './plan-run.ts';
import { type PlannedJob, ProgramRun } from './program-run.ts';

/** A job that must be made, or that exists already and must be followed. */
export interface NextJob {
  readonly run: ProgramRun | PlanRun;
  readonly planned: PlannedJob;
  /** Null if the job must still be made. */
  readonly job_id: string | null;
}

/** How many programs of one grading are tested at a time. The next begins once an earlier one has no more jobs to make. */
const programsAtOnce = 8;
/** The same for programs with a plan. They are fewer, because a plan's steps keep the outputs of its tests. */
const plansAtOnce = 2;

export class GradingWork implements GradingParts {
  readonly tenant: string;
  readonly grading_id: string;
  readonly principal: string;
  readonly common: GradingCommon;
  readonly heads: readonly TestHead[];
  readonly withFiles: ReadonlySet<number>;
  readonly programs = new Map<number, StoredProgram>();
  readonly products = new Map<string, BuiltProduct>();
  /** Whether somebody requested that the grading end. */
  isCancelled: boolean;
  /** Jobs that are being made or followed, with their ids once they have one. */
  readonly underWay = new Map<PlannedJob, string | null>();
  /** Jobs whose ends are known and being stored. The next jobs may be made meanwhile. */
  readonly storing = new Set<PlannedJob>();
  /** The names of the contents that are held for each program's judge. */
  readonly held = new Map<number, readonly string[]>();
  /** The number of the grading's last turn. It grows with each job that the grading gets. */
  lastTurn = 0;
  readonly #waiting: number[];
  readonly #begun = new Map<number, ProgramRun | PlanRun>();
  readonly #made: NextJob[] = [];
  readonly #jobs: StoredWork['jobs'];

  readonly #plan: Planned['plan'] | null;
  readonly #languages: readonly string[];

  /** @param planned the plan of a grading with verdicts of version 2; null for version 1 */
  constructor(stored: StoredWork, planned: Planned | null) {
    this.#plan = planned?.plan ?? null;
    this.withFiles = planned?.withFiles ?? new Set();
    this.#languages = stored.languages;
    this.tenant = stored.tenant;
    this.grading_id = stored.grading_id;
    this.principal = stored.principal;
    this.common = JSON.parse(stored.common) as GradingCommon;
    this.heads = stored.heads.map((head) => JSON.parse(head) as TestHead);
    this.isCancelled = stored.cancellation_requested;
    this.#waiting = [...stored.statuses.entries()].flatMap(([at, status]) => (status === 'waiting' ? [at] : []));
    this.#jobs = stored.jobs.toSorted((one, other) => one.attempt - other.attempt);
    // Existing jobs are followed first, so that they are neither made again nor forgotten.
    for (const program of new Set(this.#jobs.map((job) => job.program))) this.#begin(program);
  }

  /** The next job to make or to follow; null if there is none at present. */
  next(): NextJob | null {
    const made = this.#made.shift();
    if (made !== undefined) return made;
    if (this.isCancelled) return null;
    for (const run of this.#begun.values()) {
      const planned = run.next();
      if (planned !== null) return { run, planned, job_id: null };
    }
    const [program] = this.#waiting.filter((at) => !this.#begun.has(at));
    if (program === undefined || this.#begun.size >= (this.#plan === null ? programsAtOnce : plansAtOnce)) return null;
    this.#begin(program);
    return this.next();
  }

  /** How many jobs of the grading have not ended. */
  get load(): number {
    return this.underWay.size - this.storing.size;
  }

  /** The programs that have not ended. */
  get waiting(): readonly number[] {
    return this.#waiting;
  }

  /** Notes that a program has ended. */
  over(program: number): void {
    this.#begun.delete(program);
    this.held.delete(program);
    this.programs.delete(program);
    const at = this.#waiting.indexOf(program);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  #newRun(program: number): ProgramRun | PlanRun {
    if (this.#plan !== null)
      return new PlanRun(program, { plan: this.#plan, language: this.#languages[program] ?? '' });
    return new ProgramRun(program, { tests: this.heads.length, isChecked: this.common.checker !== null });
  }

  #begin(program: number): void {
    const run = this.#newRun(program);
    this.#begun.set(program, run);
    const jobs = this.#jobs.filter((job) => job.program === program);
    for (const { name, job_id } of jobs) {
      const attempts = jobs.filter((job) => job.name === name);
      // Only the last attempt counts, because the service failed in all earlier attempts.
      const last = attempts.at(-1);
      if (last === undefined || last.job_id !== job_id) continue;
      const planned = run.again(name, last.attempt);
      if (planned !== null) this.#made.push({ run, planned, job_id });
    }
  }
}
