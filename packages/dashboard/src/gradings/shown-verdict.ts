/** A verdict of either version, in the form that a page shows. Members that one version lacks are null or empty. */
import type { Verdict } from '@vouchbox/protocol/grading';
import type {
  BuildRecord,
  GroupResult,
  JobRecord,
  TestResult2,
  TestVerdict2,
  Verdict2,
} from '@vouchbox/protocol/grading-steps';
import { endWords } from '@vouchbox/protocol/words';

export interface ShownVerdict {
  /** The job that compiled the program, and how it ended. */
  readonly build: { readonly job_id: string; readonly end: string } | null;
  /** The groups; empty if the tests are in no groups. */
  readonly groups: readonly GroupResult[];
  readonly tests: readonly ShownTest[];
}

export interface ShownTest {
  readonly name: string;
  readonly group: string;
  readonly verdict: string;
  /** Facts that the verdict itself does not state, such as why a test is `not_run`. */
  readonly why: string | null;
  readonly points: number;
  readonly points_max: number;
  /** What the program alone used; null if the verdict does not state it. */
  readonly took: Pick<NonNullable<TestResult2['run']>, 'cpu_ms' | 'wall_ms' | 'memory_peak_bytes'> | null;
  /** The jobs that ran for the test, each with its role. */
  readonly jobs: readonly (readonly [did: string, job_id: string])[];
}

export function shownVerdict(verdict: Verdict | Verdict2): ShownVerdict {
  if (verdict.schema === 'urn:svc:verdict:v1') return { build: null, groups: [], tests: verdict.tests.map(shownTest1) };
  const { program, groups, tests } = verdict;
  const [first, ...others] = groups;
  const isOne = others.length === 0 && first?.score === 'sum' && !first.stop;
  return {
    build: program.build && { job_id: program.build.job_id, end: builtWords(program.build) },
    groups: isOne ? [] : groups,
    tests: tests.map((test) => ({
      ...test,
      why: WHYS[test.verdict]?.(test, verdict) ?? null,
      took: test.run,
      jobs: jobsOf(test),
    })),
  };
}

function shownTest1({ job_id, checker, ...test }: Verdict['tests'][number]): ShownTest {
  const jobs = [['run', job_id] as const, ...(checker === null ? [] : [['check', checker.job_id] as const])];
  const why = test.verdict === 'checker_failed' && checker !== null ? endOf(checker) : null;
  return { ...test, group: '', why, took: null, jobs };
}

function jobsOf({ run, starved, check, validations }: TestResult2): ShownTest['jobs'] {
  const named: readonly (readonly [string, JobRecord | null])[] = [
    ['run', run],
    ['first run', starved],
    ['check', check],
    ...validations.map(
      (one, index) => [validations.length === 1 ? 'validator' : `validator ${index + 1}`, one] as const,
    ),
  ];
  return named.flatMap(([did, job]) => (job === null ? [] : [[did, job.job_id]]));
}

type Why = (test: TestResult2, verdict: Verdict2) => string | null;

const WHYS: Partial<Record<TestVerdict2, Why>> = {
  not_run: ({ run }, { program: { build } }) =>
    run !== null ? endOf(run) : build !== null ? builtWords(build) : 'No job ran it.',
  runtime_error: ({ run }) => run && endOf(run),
  time_limit: ({ run }) => run && endOf(run),
  checker_failed: ({ check }) => check && endOf(check),
  invalid_input: () => 'A validator refused its input.',
  skipped: ({ group }, { groups }) => skippedWords(group, groups),
};

/** Why a test was skipped: the test's group needs a group that did not pass, or else an earlier test ended the test's group. */
function skippedWords(group: string, groups: readonly GroupResult[]): string {
  const needed = groups.find(({ name }) => name === group)?.after ?? [];
  const failed = groups.find(({ name, passed }) => needed.includes(name) && !passed);
  return failed === undefined
    ? 'A test before it ended the group.'
    : `It needs group ${failed.name}, which did not pass.`;
}

function builtWords(build: BuildRecord): string {
  if (build.compiler === 'error') return 'The compiler found an error in the program.';
  if (build.compiler === 'limit') return 'The compiler met a limit.';
  return build.terminal_reason === 'exited' ? 'The program was compiled once.' : `It was not compiled. ${endOf(build)}`;
}

/** How a job ended, in words, as far as the verdict says. */
function endOf({ terminal_reason, exit_code }: Pick<JobRecord, 'terminal_reason' | 'exit_code'>): string {
  return endWords({ terminal_reason, exit_code });
}
