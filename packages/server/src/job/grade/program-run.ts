/**
 * Which jobs a graded program needs next, given the jobs that have ended: each test, then its checker if the program ended
 * well, then the judge. This machine knows neither the store nor time, so after a restart it must be told its earlier jobs.
 */

import type { JobEnd as StepEnd } from '@vouchbox/protocol/grading-steps';

/** A job's role for its program. In a plan, builds and validations are also called `check`, because they run no test. */
export type Purpose = 'test' | 'check' | 'judge';

/** A job to be made. */
export interface PlannedJob {
  readonly program: number;
  /** Unique among the jobs of the program. */
  readonly name: string;
  readonly attempt: number;
  readonly purpose: Purpose;
  /** The place of the job's test; null for the judge. */
  readonly test: number | null;
}

/** A job's end, in the detail that its grading needs. */
export interface JobEnd {
  readonly job_id: string;
  readonly receipt_sha256: string;
  readonly code_sha256: string | null;
  readonly terminal_reason: string | null;
  readonly exit_code: number | null;
  /** Whether part of the job's standard output is unknown. */
  readonly truncated: boolean;
  /** Whether the service failed to run the job. The end then says nothing about the program, and the job is made again. */
  readonly isFailure: boolean;
  /** The same end in the form that steps take, if the grading has steps. */
  readonly step?: StepEnd;
}

/** How often the same job is made, at most. */
export const attemptsMax = 3;

interface Step {
  state: 'open' | 'made' | 'ended';
  attempt: number;
  end: JobEnd | null;
}

const newStep = (): Step => ({ state: 'open', attempt: 1, end: null });

export class ProgramRun {
  readonly program: number;
  readonly #tests: readonly { readonly test: Step; readonly check: Step }[];
  readonly #judge = newStep();
  readonly #isChecked: boolean;

  constructor(program: number, { tests, isChecked }: { readonly tests: number; readonly isChecked: boolean }) {
    this.program = program;
    this.#tests = Array.from({ length: tests }, () => ({ test: newStep(), check: newStep() }));
    this.#isChecked = isChecked;
  }

  /** Whether this program's next job may be made before the end of an earlier one is known. */
  get mayRunAhead(): boolean {
    return this.#tests.some(({ test }) => test.state === 'open');
  }

  /** The next job that can be made now; from here on it counts as made. Null if all jobs wait for others. */
  next(): PlannedJob | null {
    let isReady = true;
    for (const [test, steps] of this.#tests.entries()) {
      if (steps.test.state === 'open') return this.#make('test', test);
      if (this.#needsCheck(test) && steps.check.state === 'open') return this.#make('check', test);
      isReady &&= this.#isDone(test);
    }
    return isReady && this.#judge.state === 'open' ? this.#make('judge', null) : null;
  }

  /** Finds by its name a job that was made before; null if this program has no such job. */
  again(name: string, attempt: number): PlannedJob | null {
    const [purpose, place] = name.split(' ') as [Purpose, string | undefined];
    const test = place === undefined ? null : Number(place);
    const step = this.#stepOf(purpose, test);
    if (step === undefined) return null;
    step.attempt = attempt;
    return this.#make(purpose, test);
  }

  /** Takes a job's end. Returns false if the job must be made once more. */
  ended({ purpose, test, attempt }: PlannedJob, end: JobEnd): boolean {
    const step = this.#stepOf(purpose, test);
    if (step === undefined || step.attempt !== attempt) return false;
    const isFinal = !end.isFailure || attempt >= attemptsMax;
    step.state = isFinal ? 'ended' : 'open';
    step.end = end;
    if (!isFinal) step.attempt += 1;
    return isFinal;
  }

  /** How each test and its checker ended. Call this once all have ended. */
  ends(): readonly { readonly test: JobEnd; readonly check: JobEnd | null }[] {
    return this.#tests.map(({ test, check }, at) => {
      if (test.end === null) throw new Error('a test of the program has not ended');
      return { test: test.end, check: this.#needsCheck(at) ? check.end : null };
    });
  }

  /** How the test ended. */
  endOf(test: number): JobEnd | null {
    return this.#tests[test]?.test.end ?? null;
  }

  #make(purpose: Purpose, test: number | null): PlannedJob {
    const step = this.#stepOf(purpose, test) as Step;
    step.state = 'made';
    const name = test === null ? purpose : `${purpose} ${test}`;
    return { program: this.program, name, attempt: step.attempt, purpose, test };
  }

  #stepOf(purpose: Purpose, test: number | null): Step | undefined {
    if (purpose === 'judge') return this.#judge;
    return test === null ? undefined : this.#tests[test]?.[purpose];
  }

  #needsCheck(test: number): boolean {
    const { state, end } = this.#tests[test]?.test ?? newStep();
    if (!this.#isChecked || state !== 'ended' || end === null) return false;
    return end.terminal_reason === 'exited' && end.exit_code === 0 && !end.truncated;
  }

  #isDone(test: number): boolean {
    const steps = this.#tests[test];
    return steps?.test.state === 'ended' && (!this.#needsCheck(test) || steps.check.state === 'ended');
  }
}
