/**
 * Checks a verdict of version 2: each line is computed again from the signed record of the job that the line names, and the
 * points are computed from the lines by the rules of the judge. docs/GRADING.md.
 */
import { canonicalJson, isJsonObject, sha256Hex } from '@vouchbox/evidence';
import {
  builderOf,
  CHECKED_FILES,
  type CheckRecord,
  COMPARER,
  checkRecord,
  endOf,
  isCompiled,
  isCut,
  isStarved,
  type JobEnd,
  jobRecord,
  PRODUCT_FILES,
  runRecord,
  type Score,
  scoreOf,
  type TestResult2,
  TOO_LONG,
  type Verdict2,
  wonAlone,
} from '@vouchbox/protocol/grading-steps';
import { type Attested, artifactDigest, attested, type VerdictExpectation } from './attested-job.ts';
import { artifactIn } from './check-record.ts';
import type { ExportFiles } from './exported-job.ts';
import { type Check, checked, failed, passed } from './report.ts';

interface Known {
  readonly verdict: Verdict2;
  readonly jobs: ReadonlyMap<string, ExportFiles>;
  readonly expected: VerdictExpectation;
}

/** Checks the build, each test and the scores. */
export async function verdict2Checks(known: Known): Promise<readonly Check[]> {
  const { verdict } = known;
  const examiner = new Examiner(known);
  const checks: Check[] = [];
  if (verdict.program.build !== null) checks.push(await examiner.buildCheck());
  for (const test of verdict.tests) checks.push(await examiner.testCheck(test));
  return [...checks, ...examiner.scoreChecks()];
}

const COMPARER_SHA256 = sha256Hex(new TextEncoder().encode(COMPARER));
const EMPTY_SHA256 = sha256Hex(new Uint8Array());

/** An error that says how a job contradicts the verdict. */
class Mismatch extends Error {}

class Examiner {
  readonly #known: Known;
  readonly #seen = new Set<string>();
  /** The digest of the product that all tests start. */
  #product: unknown = undefined;
  #checker: string | null = null;
  #limits: string | null = null;
  readonly #cut = new Set<TestResult2>();

  constructor(known: Known) {
    this.#known = known;
  }

  async buildCheck(): Promise<Check> {
    const { program } = this.#known.verdict;
    return await named('build', async () => {
      const build = program.build as NonNullable<typeof program.build>;
      const job = await this.#job('build', build.job_id);
      const end = jobEnd(job);
      same({ ...jobRecord(end), compiler: builderOf(end) }, build, 'the verdict says something else about it');
      if (end.code_sha256 !== program.code_sha256) throw new Mismatch('it built another program');
      if (job.receipt['build'] === undefined) throw new Mismatch('it did more than compile');
      this.#product = artifactDigest(job.receipt['large_outputs'], PRODUCT_FILES.output);
      return `${build.compiler === null ? 'built' : `compile ${build.compiler}`}; ${job.detail}`;
    });
  }

  async testCheck(test: TestResult2): Promise<Check> {
    const name = `test ${test.name}`;
    return await named(name, async () => {
      for (const validation of test.validations) await this.#checkValidation(name, test, validation);
      if (test.run === null) return `${test.verdict}; no job`;
      const job = await this.#job(name, test.run.job_id);
      if (this.#seen.has(test.run.job_id)) throw new Mismatch('its job is that of another test');
      this.#seen.add(test.run.job_id);
      const end = this.#checkRun(test, job, test.run);
      await this.#checkRepeat(name, test, { job, end });
      if (isCut(end)) this.#cut.add(test);
      const isKept = end.stdout_sha256 === test.stdout_sha256;
      if (!isKept && job.stdoutSha256 !== test.stdout_sha256) throw new Mismatch('the judge was given another output');
      if (test.check !== null) await this.#checkCheck(name, test, test.check);
      return `${test.verdict}; ${job.detail}`;
    });
  }

  /** Computes the verdicts, points and groups again. Only the judge's own comparisons come from the stated verdict. */
  scoreChecks(): readonly Check[] {
    const { tests, groups, program, accepted, points, points_max } = this.#known.verdict;
    const plan = groups.map((group) => ({ ...group, points: group.points_max }));
    const rows = tests.map((test) => {
      const isAlike = test.verdict === 'accepted';
      const alone = { ...test, points: test.points_max, is_cut: this.#cut.has(test), isAlike };
      return { ...alone, won: wonAlone(alone, program) };
    });
    const score: Score = scoreOf(plan, rows);
    const wrong = score.tests.findIndex(({ verdict, points }, at) => {
      const said = tests[at];
      return verdict !== said?.verdict || points !== said.points;
    });
    const unchecked = this.#checker === null ? undefined : tests.find(lacksChecker);
    let words = wrong === -1 ? null : `${tests[wrong]?.name} is ${score.tests[wrong]?.verdict} by the rules`;
    if (unchecked !== undefined) words = `${unchecked.name} was judged without the checker of the others`;
    const isSame = canonicalJson([score.groups, score.accepted, score.points, score.points_max]);
    const isRight = isSame === canonicalJson([groups, accepted, points, points_max]);
    return [
      checked('words', words, 'they follow from how the jobs ended'),
      checked('totals', isRight ? null : 'they do not follow from the tests', `${points} of ${points_max} points`),
    ];
  }

  /** Checks a run of the program: its receipt must have what the verdict says about the run. */
  #checkRun(test: TestResult2, { receipt, ...job }: Attested, said: TestResult2['run']): JobEnd {
    const { program } = this.#known.verdict;
    const end = jobEnd({ receipt, ...job });
    if (end.code_sha256 !== program.code_sha256) throw new Mismatch('it ran another program');
    const product = artifactDigest(receipt['input_artifacts'], PRODUCT_FILES.input);
    if (product !== this.#product || startedBy(receipt) !== program.build?.job_id)
      throw new Mismatch('it did not start what the build made');
    const isAlone = product !== undefined || !isCompiled({ language: program.language });
    same(runRecord(end, isAlone), said, 'the verdict says something else about its end, its time or its memory');
    const isPair = isJsonObject(receipt['interaction']);
    if (isPair && test.check === null && end.exit_code === 0) throw new Mismatch('no interactor judged it');
    if (!isPair && end.stdin_sha256 !== test.stdin_sha256) throw new Mismatch('the verdict names another input');
    const limits = canonicalJson(receipt['requested_limits'] ?? null);
    this.#limits ??= limits;
    if (limits !== this.#limits) throw new Mismatch('it ran under other limits than the tests before it');
    return end;
  }

  /** Requires that a starved run was repeated exactly once, and that no other run was repeated. */
  async #checkRepeat(name: string, test: TestResult2, last: { readonly job: Attested; readonly end: JobEnd }) {
    if (test.starved === null) {
      if (starved(last.end))
        throw new Mismatch('it reached its wall limit with too little CPU time, and was not repeated');
      return;
    }
    const first = await this.#job(name, test.starved.job_id);
    if (!starved(this.#checkRun(test, first, test.starved))) throw new Mismatch('it was repeated without need');
    if (this.#seen.has(test.starved.job_id)) throw new Mismatch('its first job is that of another test');
    this.#seen.add(test.starved.job_id);
    const isSame = GIVEN.every((member) => alike(first.receipt[member], last.job.receipt[member]));
    if (!isSame) throw new Mismatch('its repetition got another input');
  }

  async #checkCheck(name: string, test: TestResult2, check: CheckRecord): Promise<void> {
    const job = await this.#job(`${name}, its checker`, check.job_id);
    const { receipt } = job;
    sameCheck(job, check, 'the verdict says something else about its checker');
    await this.#checkProduct(`${name}, its checker`, receipt);
    if (isJsonObject(receipt['interaction'])) return this.#checkInteractor(test, receipt);
    wasGiven(receipt, 'output', test.stdout_sha256, 'its checker was given another output');
    wasGiven(receipt, 'expected', test.expected_sha256, 'its checker was given another expected output');
    if (check.code_sha256 === COMPARER_SHA256) {
      const words = sha256Hex(canonicalJson([JSON.stringify(test.compare)]));
      if (receipt['args_sha256'] !== words) throw new Mismatch('it was compared in another way');
      return;
    }
    wasGiven(receipt, 'stdin', test.stdin_sha256 ?? EMPTY_SHA256, 'its checker was given another input');
    if (check.codes === 'kattis' && receipt['stdin_sha256'] !== test.stdout_sha256)
      throw new Mismatch('its checker read another output');
    this.#sameForAll(receipt, 'its checker was another program');
  }

  /** Requires that the interactor talked to this test's run, and had this test's input and expected output. */
  #checkInteractor(test: TestResult2, receipt: Attested['receipt']): void {
    const { role, peer } = receipt['interaction'] as Readonly<Record<string, unknown>>;
    if (role !== 'interactor' || peer !== test.run?.job_id)
      throw new Mismatch('its interactor talked to another program');
    wasGiven(receipt, 'stdin', test.stdin_sha256 ?? EMPTY_SHA256, 'its interactor was given another input');
    wasGiven(receipt, 'expected', test.expected_sha256, 'its interactor was given another expected output');
    this.#sameForAll(receipt, 'its interactor was another program');
  }

  #sameForAll(receipt: Attested['receipt'], problem: string): void {
    const own = ownFiles(receipt['input_artifacts']);
    const checker = canonicalJson([receipt['code_sha256'] ?? null, receipt['env_sha256'] ?? null, own]);
    this.#checker ??= checker;
    if (checker !== this.#checker) throw new Mismatch(problem);
  }

  async #checkValidation(name: string, test: TestResult2, said: CheckRecord): Promise<void> {
    const job = await this.#job(`${name}, its validator`, said.job_id);
    sameCheck(job, said, 'the verdict says something else about its validator');
    await this.#checkProduct(`${name}, its validator`, job.receipt);
    if (test.run !== null && job.receipt['stdin_sha256'] !== test.stdin_sha256)
      throw new Mismatch('its validator read another input');
  }

  /** If a program of the grader started a product, requires that the product was built from that program's source. */
  async #checkProduct(name: string, receipt: Attested['receipt']): Promise<void> {
    const build = startedBy(receipt);
    if (build === undefined) return;
    const { receipt: made } = await this.#job(`${name}, its build`, build);
    if (made['build'] === undefined || made['code_sha256'] !== receipt['code_sha256'])
      throw new Mismatch(`${name}: it started the product of another program`);
    const product = artifactDigest(receipt['input_artifacts'], PRODUCT_FILES.input);
    if (product === undefined || product !== artifactDigest(made['large_outputs'], PRODUCT_FILES.output))
      throw new Mismatch(`${name}: it did not start the product of its build`);
  }

  async #job(name: string, job_id: string): Promise<Attested> {
    const job = await attested(name, this.#known.jobs.get(job_id), this.#known.expected, job_id);
    if ('isGood' in job) throw new Mismatch(job.detail);
    return job;
  }
}

/** Requires that a checker was given the file with this digest. */
function wasGiven(
  receipt: Attested['receipt'],
  file: keyof typeof CHECKED_FILES,
  sha256: unknown,
  problem: string,
): void {
  if (artifactDigest(receipt['input_artifacts'], CHECKED_FILES[file]) !== sha256) throw new Mismatch(problem);
}

/** The build whose product a job started; undefined if it started none. */
function startedBy({ product }: Attested['receipt']): string | undefined {
  if (product === undefined) return undefined;
  const { job_id } = isJsonObject(product) ? product : {};
  return typeof job_id === 'string' ? job_id : '';
}

/** Whether the judge or the comparer, and not a checker, judged the output of a test. */
function lacksChecker({ verdict, check }: TestResult2): boolean {
  return (check ?? COMPARED).code_sha256 === COMPARER_SHA256 && (verdict === 'accepted' || verdict === 'wrong_answer');
}

const COMPARED = { code_sha256: COMPARER_SHA256 };

/** The files of a checker without the files of the test. The remaining files are the same for all tests. */
function ownFiles(given: unknown): unknown {
  const checked: readonly unknown[] = Object.values(CHECKED_FILES);
  return Array.isArray(given) ? given.filter((file) => !(isJsonObject(file) && checked.includes(file['path']))) : given;
}

/** The members of a receipt that state the input of a run. */
const GIVEN = ['code_sha256', 'stdin_sha256', 'args_sha256', 'env_sha256', 'policy_sha256', 'input_artifacts'] as const;

function starved(end: JobEnd): boolean {
  return isStarved({ ...end, cpu_ms: end.usage.cpu_ms });
}

async function named(name: string, work: () => Promise<string>): Promise<Check> {
  try {
    return passed(name, await work());
  } catch (error) {
    if (error instanceof Mismatch) return failed(name, error.message);
    throw error;
  }
}

function alike(one: unknown, other: unknown): boolean {
  return canonicalJson(one ?? null) === canonicalJson(other ?? null);
}

function same(found: object, said: unknown, problem: string): void {
  if (!alike(found, said)) throw new Mismatch(problem);
}

function sameCheck(job: Attested, said: CheckRecord, problem: string): void {
  const end = jobEnd(job, (path) => scoreText(job, path, said));
  same(checkRecord(end, said.codes), said, problem);
}

/** The text of a file with points, as the verdict states it. The text is used if the file has the text's digest. */
function scoreText({ receipt }: Attested, path: string, { said }: CheckRecord): string {
  const text = said?.text ?? '';
  const file = artifactIn(receipt['output_artifacts'], path);
  const isTooLong = text === TOO_LONG && Number(file?.['size_bytes']) > TOO_LONG.length;
  return isTooLong || file?.['sha256'] === sha256Hex(new TextEncoder().encode(text)) ? text : 'another text';
}

function jobEnd(job: Attested, textOf?: (path: string) => string): JobEnd {
  const { receipt, stdout, stderr, violations } = job;
  const said = receipt as unknown as Parameters<typeof endOf>[0]['receipt'] & Parameters<typeof endOf>[0];
  const { job_id, terminal_reason, exit_code, truncated } = said;
  return endOf({ job_id, terminal_reason, exit_code, truncated, stdout, stderr, violations, receipt: said }, textOf);
}

/** Whether the judge can have written the value. The judge copies parts of its input, which a grader made. */
export function isVerdict2(value: Readonly<Record<string, unknown>>): boolean {
  const { program, groups, tests } = value;
  const isJob = (job: unknown) => isJsonObject(job) && typeof job['job_id'] === 'string';
  return (
    isJsonObject(program) &&
    (program['build'] === null || isJob(program['build'])) &&
    Array.isArray(groups) &&
    groups.every((group) => isJsonObject(group) && Array.isArray(group['after'])) &&
    Array.isArray(tests) &&
    tests.every(
      (test) =>
        isJsonObject(test) &&
        Array.isArray(test['validations']) &&
        test['validations'].every(isCheck) &&
        ['run', 'starved'].every((member) => test[member] === null || isJob(test[member])) &&
        (test['check'] === null || isCheck(test['check'])),
    )
  );
  function isCheck(check: unknown): boolean {
    return isJsonObject(check) && isJob(check) && (check['codes'] === 'testlib' || check['codes'] === 'kattis');
  }
}
