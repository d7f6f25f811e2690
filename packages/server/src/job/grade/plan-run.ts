/**
 * A machine like `ProgramRun`, for a program whose verdict has version 2. The contract's steps know about builds, validators
 * and groups, and say which jobs come next.
 */
import {
  asksWords,
  type GradingPlan,
  groupsOf,
  JUDGE_JOB,
  nextJobs,
  type PlannedJob as Step,
  type JobEnd as StepEnd,
} from '@vouchbox/protocol/grading-steps';
import { keptEnd } from './kept-end.ts';
import { attemptsMax, type JobEnd, type PlannedJob } from './program-run.ts';

/** A job that the steps plan. Its input is known unless the job was made before a restart. */
export interface StepJob extends PlannedJob {
  readonly step: Step | null;
}

/** The word that stands for the program's text in a plan. The text is read only when it is needed. */
export const PROGRAM = 'program';

/** What this version can do for gradings: build each program once, and return whole outputs. */
const ABILITIES = { large_outputs: true, build: true };

export class PlanRun {
  readonly program: number;
  readonly #plan: GradingPlan;
  readonly #language: string;
  readonly #ends = new Map<string, StepEnd>();
  readonly #attempts = new Map<string, number>();
  readonly #made = new Set<string>();
  /** The jobs that were due at the last look and are not made yet. */
  #due: Step[] = [];
  /** Whether the last look is out of date, because a job has ended since. */
  #isOld = true;
  /** Whether one test's end may decide that another test is not run. */
  readonly #mayDrop: boolean;

  constructor(program: number, { plan, language }: { readonly plan: GradingPlan; readonly language: string }) {
    this.program = program;
    this.#plan = plan;
    this.#language = language;
    this.#mayDrop = asksWords(groupsOf(plan));
  }

  /** Like `ProgramRun.mayRunAhead`. */
  get mayRunAhead(): boolean {
    return !this.#mayDrop && this.#due.length > 0;
  }

  /** Like `ProgramRun.next`. A look visits all tests, so it is made only if no job is due, or if an end may drop a test. */
  next(): StepJob | null {
    if (this.#isOld && (this.#mayDrop || this.#due.length === 0)) this.#due = this.#look();
    const step = this.#due.shift();
    if (step === undefined) return null;
    this.#made.add(step.name);
    return { ...this.#jobOf(step.name, step.test), step };
  }

  /** Like `ProgramRun.again`. */
  again(name: string, attempt: number): StepJob | null {
    this.#attempts.set(name, attempt);
    this.#made.add(name);
    const place = /^(?:test|check|validate) (\d+)/.exec(name)?.[1];
    return { ...this.#jobOf(name, place === undefined ? null : Number(place) - 1), step: null };
  }

  /** Like `ProgramRun.ended`. */
  ended({ name, attempt }: PlannedJob, { isFailure, step }: JobEnd): boolean {
    if ((this.#attempts.get(name) ?? 1) !== attempt) return false;
    this.#isOld = true;
    const isFinal = !isFailure || attempt >= attemptsMax;
    if (!isFinal || step === undefined) {
      this.#attempts.set(name, attempt + 1);
      this.#made.delete(name);
      return isFinal;
    }
    this.#ends.set(name, keptEnd(step, this.#plan.tests.length));
    return true;
  }

  #jobOf(name: string, test: number | null): PlannedJob {
    const purpose = name === JUDGE_JOB ? 'judge' : name.startsWith('test ') ? 'test' : 'check';
    return { program: this.program, name, attempt: this.#attempts.get(name) ?? 1, purpose, test };
  }

  #look(): Step[] {
    this.#isOld = false;
    const program = { language: this.#language, code: PROGRAM };
    const known = { plan: this.#plan, program, ends: this.#ends, abilities: ABILITIES };
    return nextJobs(known).filter(({ name }) => !this.#made.has(name));
  }
}
