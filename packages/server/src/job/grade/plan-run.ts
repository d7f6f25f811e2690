/**
 * A machine like `ProgramRun` for a program of a grading with a verdict of version 2: the contract's steps, which know of
 * builds, validators and groups, say which jobs come next.
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

/** A job of the steps. Its input is known unless it was made before a restart. */
export interface StepJob extends PlannedJob {
  readonly step: Step | null;
}

/** The word that stands in a plan for the text of the program, which is read only when it is needed. */
export const PROGRAM = 'program';

/** The features of this version for gradings: programs are built once, and outputs come back whole. */
const ABILITIES = { large_outputs: true, build: true };

export class PlanRun {
  readonly program: number;
  readonly #plan: GradingPlan;
  readonly #language: string;
  readonly #ends = new Map<string, StepEnd>();
  readonly #attempts = new Map<string, number>();
  readonly #made = new Set<string>();
  /** The due jobs that are not made yet, as of the last look. */
  #due: Step[] = [];
  /** Whether a job has ended since the last look, which is then out of date. */
  #isOld = true;
  /** Whether the end of one test may decide that another is not run. */
  readonly #mayDrop: boolean;

  constructor(program: number, { plan, language }: { readonly plan: GradingPlan; readonly language: string }) {
    this.program = program;
    this.#plan = plan;
    this.#language = language;
    this.#mayDrop = asksWords(groupsOf(plan));
  }

  /** As `ProgramRun.next`. A look visits all tests, so it waits until no job is due, unless an end may drop one. */
  next(): StepJob | null {
    if (this.#isOld && (this.#mayDrop || this.#due.length === 0)) this.#due = this.#look();
    const step = this.#due.shift();
    if (step === undefined) return null;
    this.#made.add(step.name);
    return { ...this.#jobOf(step.name, step.test), step };
  }

  /** As `ProgramRun.again`. */
  again(name: string, attempt: number): StepJob | null {
    this.#attempts.set(name, attempt);
    this.#made.add(name);
    const place = /^(?:test|check|validate) (\d+)/.exec(name)?.[1];
    return { ...this.#jobOf(name, place === undefined ? null : Number(place) - 1), step: null };
  }

  /** As `ProgramRun.ended`. */
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
