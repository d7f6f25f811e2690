/**
 * The steps of a grading: decides which jobs are due, given the jobs that have ended. This module keeps no state, so the driver
 * of a grading may stop and later continue from the recorded ends.
 */
import { isCompiled } from './build-options.ts';
import { GRADING_FILE, VERDICT_FILE } from './grading.ts';
import { areAlike } from './grading-compare.ts';
import {
  builderOf,
  buildSubmission,
  checkerSubmission,
  checkRecord,
  comparerSubmission,
  graderSubmission,
  interactorSubmission,
  type JobEnd,
  jobRecord,
  type PlannedJob,
  type PlannedSubmission,
  runRecord,
  STDOUT_FILE,
} from './grading-job.ts';
import { CHECKED_FILES, JUDGE_2 } from './grading-judge.ts';
import {
  asksWords,
  type GradingPlan,
  groupOf,
  groupsOf,
  limitsOf,
  outputRoom,
  type PlannedProgram,
  type PlannedTest,
  wallFor,
} from './grading-plan.ts';
import type { BuildRecord, CheckRecord, Grading2, GroupRecord, JudgedTest } from './grading-record.ts';
import { isStarved, type Placed, placesOf, type Ran, type Won, wonAlone } from './grading-score.ts';
import { inlineExpected, inlineRoom, isCut, isInline, outputOf } from './grading-texts.ts';

/** The features of the service that runs the jobs. */
export interface Abilities {
  readonly large_outputs: boolean;
  readonly build: boolean;
}

export interface Known {
  readonly plan: GradingPlan;
  readonly program: PlannedProgram;
  /** The ends of jobs, keyed by job name. */
  readonly ends: ReadonlyMap<string, JobEnd>;
  readonly abilities: Abilities;
}

/**
 * The jobs that can be made now and have not ended. The driver of the grading skips those that it has already made. When `judge`
 * has ended, the grading is over.
 */
export function nextJobs(known: Known): readonly PlannedJob[] {
  const due = new Map<string, PlannedJob>();
  const look = new Look(known, due);
  const steps = look.steps();
  if (due.size === 0 && steps.every(({ isOver }) => isOver) && !known.ends.has(JUDGE_JOB)) {
    return [judgeJob(gradingWith(known, steps))];
  }
  return [...due.values()];
}

export const JUDGE_JOB = 'judge';

/** The judge's input; null as long as a job is due. */
export function gradingOf(known: Known): Grading2 | null {
  const steps = new Look(known, new Map()).steps();
  return steps.every(({ isOver }) => isOver) ? gradingWith(known, steps) : null;
}

/** The progress of a test. */
interface Step {
  readonly isOver: boolean;
  readonly judged: JudgedTest;
  readonly won: Won | null;
}

/** One look at a grading: the state of each test, and the jobs that are due. */
class Look {
  readonly #known: Known;
  readonly #due: Map<string, PlannedJob>;
  readonly #groups: readonly GroupRecord[];
  readonly #room: number;
  readonly #asksWords: boolean;

  constructor(known: Known, due: Map<string, PlannedJob>) {
    this.#known = known;
    this.#due = due;
    this.#groups = groupsOf(known.plan);
    this.#room = inlineRoom(known.plan.tests.length);
    this.#asksWords = asksWords(this.#groups);
  }

  /** A group's earlier tests decide whether the group stops, so the tests are examined until nothing changes. */
  steps(): readonly Step[] {
    const { tests } = this.#known.plan;
    const groups = this.#groups;
    const steps: (Step | null)[] = tests.map(() => null);
    for (;;) {
      const placed = tests.map((test, at) => placedOf(test, groups, steps[at]?.won ?? null));
      const places = placesOf(groups, placed);
      const open = places.flatMap((place, at) => (place === 'counts' && steps[at] === null ? [at] : []));
      if (open.length === 0) return places.map((place, at) => steps[at] ?? this.#untried(at, place === 'skipped'));
      for (const at of open) steps[at] = this.#step(at);
    }
  }

  #untried(at: number, isOver: boolean): Step {
    return { isOver, judged: this.#judged(at, { validations: [] }), won: null };
  }

  #step(at: number): Step {
    const validations = this.#validations(at);
    if (validations === null) return this.#untried(at, false);
    if (!areValid(validations)) return this.#over(at, { validations });
    const built = this.#built('build', this.#known.program, false);
    if (built === null) return this.#untried(at, false);
    // Without a built interactor nobody would answer the program, so its end would show nothing about the program itself.
    if (built === 'failed' || this.#builtInteractor() === 'failed') return this.#over(at, { validations });
    return this.#tested(at, built, validations);
  }

  /** Runs the test, and runs it once more if the first run starved: see `isStarved`. */
  #tested(at: number, built: Built, validations: readonly CheckRecord[]): Step {
    const submission = this.#testSubmission(at, built);
    if (submission === null) return this.#untried(at, false);
    const name = `test ${at + 1}`;
    const first = this.#end({ name, role: 'test', shared: false, test: at, submission });
    if (first === null) return this.#untried(at, false);
    const isRepeated = isStarved({ ...first, cpu_ms: first.usage.cpu_ms });
    const again = isRepeated
      ? this.#end({ name: `${name} again`, role: 'test', shared: false, test: at, submission })
      : null;
    if (isRepeated && again === null) return this.#untried(at, false);
    const found = { validations, end: again ?? first, starved: again === null ? null : first, isAlone: built.isAlone };
    return this.#checked(at, found);
  }

  #checked(at: number, found: Found & { readonly end: JobEnd }): Step {
    const { end } = found;
    if (end.terminal_reason !== 'exited' || end.exit_code !== 0 || isCut(end)) return this.#over(at, found);
    const { plan } = this.#known;
    if (plan.interactor !== undefined && plan.checker === undefined) {
      return end.peer === undefined
        ? this.#over(at, found)
        : this.#over(at, {
            ...found,
            check: checkRecord(end.peer, plan.interactor.codes ?? 'testlib'),
            checkEnd: end.peer,
          });
    }
    const check = this.#checkJob(at, end);
    if (check === null) return this.#untried(at, false);
    if (check === 'inline') return this.#over(at, found);
    const checkEnd = this.#end({ name: `check ${at + 1}`, role: 'check', shared: false, test: at, ...check });
    if (checkEnd === null) return this.#untried(at, false);
    return this.#over(at, { ...found, checkEnd, check: checkRecord(checkEnd, check.codes) });
  }

  /** The job that judges the output of a test; null while its checker is being built, and `inline` if the judge compares. */
  #checkJob(
    at: number,
    end: JobEnd,
  ): { readonly submission: PlannedSubmission; readonly codes: CheckRecord['codes'] } | 'inline' | null {
    const { plan } = this.#known;
    const test = plan.tests[at] as PlannedTest;
    const output = outputOf(end);
    if (plan.checker === undefined) {
      if (test.expected === undefined || isInline(test, end, this.#room)) return 'inline';
      return { submission: comparerSubmission(test, output, test.compare ?? 'lines'), codes: 'kattis' };
    }
    const built = this.#built('build checker', plan.checker, true);
    if (built === null) return null;
    const { codes = 'testlib' } = plan.checker;
    const product = built === 'failed' ? undefined : built.product;
    const given = { test, stdin: test.stdin ?? { text: '' }, output, product };
    return { submission: checkerSubmission(plan, plan.checker, given), codes };
  }

  #over(at: number, found: Found): Step {
    const judged = this.#judged(at, found);
    const { expected, stdout, compare } = judged;
    const isAlike =
      !this.#asksWords ||
      (expected === null ? judged.expected_sha256 === null : stdout !== null && areAlike(stdout, expected, compare));
    const ran: Ran = { ...judged, isAlike };
    return { isOver: true, judged, won: wonAlone(ran, { build: this.#buildRecord() }) };
  }

  /** A test as the judge gets it. */
  #judged(at: number, { validations, end, starved = null, isAlone = true, check = null, checkEnd }: Found): JudgedTest {
    const test = this.#known.plan.tests[at] as PlannedTest;
    const isCompared = end !== undefined && check === null && isInline(test, end, this.#room);
    const { expected } = test;
    const checkedFile = (path: string) => checkEnd && fileIn(checkEnd, path);
    const known = expected !== undefined && 'sha256' in expected ? expected.sha256.replace(/^sha256:/, '') : null;
    return {
      name: test.name,
      group: groupOf(test, this.#groups),
      points: test.points ?? 1,
      compare: test.compare ?? 'lines',
      run: end === undefined ? null : runRecord(end, isAlone),
      starved: starved === null ? null : runRecord(starved, isAlone),
      is_cut: end !== undefined && isCut(end),
      check,
      validations,
      stdin_sha256:
        end?.stdin_sha256 ?? (end?.peer === undefined ? null : (fileIn(end.peer, CHECKED_FILES.stdin) ?? null)),
      stdout: isCompared ? end.stdout : null,
      stdout_sha256: isCompared ? null : (checkedFile(CHECKED_FILES.output) ?? end?.stdout_sha256 ?? null),
      expected: check === null ? inlineExpected(test, this.#room) : null,
      expected_sha256: checkedFile(CHECKED_FILES.expected) ?? known,
    };
  }

  #testSubmission(at: number, { product }: Built): PlannedSubmission | null {
    const { plan, program, abilities } = this.#known;
    const test = plan.tests[at] as PlannedTest;
    const { language, code, runtime } = program;
    const files = Object.entries({ ...program.files, ...test.files }).map(([path, text]) => ({ path, ...text }));
    const large = abilities.large_outputs && plan.interactor === undefined;
    const submission = {
      language,
      code,
      runtime,
      args: test.args,
      env: test.env,
      files,
      outputs: [],
      limits: limitsOf(plan),
      requirements: plan.requirements,
      product,
      ...(large && { large_outputs: { stdout: STDOUT_FILE, max_bytes: outputRoom(plan, test) } }),
    };
    if (plan.interactor === undefined) return { ...submission, stdin: test.stdin };
    const built = this.#builtInteractor();
    if (built === null || built === 'failed') return null;
    const interactor = interactorSubmission(plan, plan.interactor, { test, product: built.product });
    return { ...submission, interactor };
  }

  /** The built interactor, as `#built` returns it. It is also null if the plan has no interactor. */
  #builtInteractor(): Built | 'failed' | null {
    const { interactor } = this.#known.plan;
    return interactor === undefined ? null : this.#built('build interactor', interactor, true);
  }

  /** What each validator found about the input; null until every validator has ended. */
  #validations(at: number): readonly CheckRecord[] | null {
    const { plan } = this.#known;
    const said = (plan.validators ?? []).map((validator, index) => {
      const built = this.#built(`build validator ${index + 1}`, validator, true);
      if (built === null) return null;
      const product = built === 'failed' ? undefined : built.product;
      const { stdin } = plan.tests[at] as PlannedTest;
      const submission = { ...graderSubmission(plan, validator, product), stdin };
      const name = `validate ${at + 1} by ${index + 1}`;
      const end = this.#end({ name, role: 'validate', shared: true, test: at, submission });
      return end === null ? null : checkRecord(end, validator.codes ?? 'testlib');
    });
    return said.some((record) => record === null) ? null : (said as readonly CheckRecord[]);
  }

  /** What jobs of this program start: its product, or its source if nothing is built; null until the build has ended. */
  #built(name: string, program: PlannedProgram, shared: boolean): Built | 'failed' | null {
    if (!isCompiled(program)) return { product: undefined, isAlone: true };
    if (!this.#known.abilities.build) return { product: undefined, isAlone: false };
    const end = this.#end({
      name,
      role: 'build',
      shared,
      test: null,
      submission: buildSubmission(this.#known.plan, program),
    });
    if (end === null) return null;
    return isBuilt(end) ? { product: { job_id: end.job_id }, isAlone: true } : 'failed';
  }

  #buildRecord(): BuildRecord | null {
    return buildRecordOf(this.#known.ends);
  }

  /** The recorded end of a job. If there is none, returns null, and the job becomes due. */
  #end(job: PlannedJob & { readonly codes?: unknown }): JobEnd | null {
    const end = this.#known.ends.get(job.name);
    if (end !== undefined) return end;
    const { name, role, shared, test, submission } = job;
    this.#due.set(name, { name, role, shared, test, submission });
    return null;
  }
}

interface Built {
  readonly product: { readonly job_id: string } | undefined;
  /** Whether the job of a test runs without a compiler. */
  readonly isAlone: boolean;
}

/** The results of a test. */
interface Found {
  readonly validations: readonly CheckRecord[];
  readonly end?: JobEnd;
  readonly starved?: JobEnd | null;
  readonly isAlone?: boolean;
  readonly check?: CheckRecord | null;
  readonly checkEnd?: JobEnd;
}

function fileIn({ inputs }: JobEnd, path: string): string | undefined {
  return inputs.find((file) => file.path === path)?.sha256;
}

function isBuilt({ terminal_reason, exit_code }: JobEnd): boolean {
  return terminal_reason === 'exited' && exit_code === 0;
}

function buildRecordOf(ends: ReadonlyMap<string, JobEnd>): BuildRecord | null {
  const end = ends.get('build');
  return end === undefined ? null : { ...jobRecord(end), compiler: builderOf(end) };
}

function areValid(validations: readonly CheckRecord[]): boolean {
  const ran = { points: 0, run: null, is_cut: false, check: null, isAlike: true };
  return wonAlone({ ...ran, validations }, { build: null }).verdict !== 'invalid_input';
}

function placedOf(test: PlannedTest, groups: readonly GroupRecord[], won: Won | null): Placed {
  return { group: groupOf(test, groups), points: test.points ?? 1, won };
}

function gradingWith(known: Known, steps: readonly Step[]): Grading2 {
  const { program, plan, ends } = known;
  const run = [...ends].find(([name]) => name.startsWith('test ') || name === 'build')?.[1];
  return {
    program: { language: program.language, code_sha256: run?.code_sha256 ?? null, build: buildRecordOf(ends) },
    groups: groupsOf(plan),
    tests: steps.map(({ judged }) => judged),
  };
}

/** The limits that a large grading needs. If a ceiling is lower, the ceiling applies. */
const JUDGE_LIMITS = { cpu_seconds: 60, wall_seconds: wallFor(60), mem_mb: 1024 };

function judgeJob(grading: Grading2): PlannedJob {
  const files = [{ path: GRADING_FILE, text: JSON.stringify(grading), secret: true } as const];
  const submission = { language: 'python', code: JUDGE_2, files, outputs: [VERDICT_FILE], limits: JUDGE_LIMITS };
  return { name: JUDGE_JOB, role: 'judge', shared: false, test: null, submission };
}
