/**
 * Grades a program against tests that it does not see, in one request. The service makes one job for each test, and a last job
 * that judges. The output of the last job is the verdict, signed like any result. This module is loaded when it is first used.
 */
import { type Comparison, compilerProblem } from '@vouchbox/protocol/grading';
import { type JobRecord, VERDICT_SCHEMA_2 } from '@vouchbox/protocol/grading-steps';
import type {
  GradingDetail,
  GradingEvent,
  GradingProgram,
  GradingSubmission,
  GradingTest,
  JobSubmission,
  StoredBlob,
} from './contract-types.ts';
import { definedEntries } from './defined-entries.ts';
import { randomKey, type Sha256 } from './digest.ts';
import { isAway, ServiceFailure, TransportFailure } from './failure.ts';
import {
  type Checker,
  checkGrading,
  type GradeGroup,
  type GradeTest,
  type GradeTests,
  interactorOf,
  sizeOf,
} from './grade-test.ts';
import type { SubmitGradingOptions, SubmittedGrading } from './gradings.ts';
import type { CallOptions } from './job-options.ts';
import type { RunOptions, RunResult } from './run.ts';
import type { submissionOf } from './submission.ts';
import { type GradedTest, type GradingJobs, type Verdict, verdictOf } from './verdict.ts';

export interface GradeOptions
  extends CallOptions,
    GradeTests,
    Pick<RunOptions, 'language' | 'limits' | 'runtime' | 'minimumIsolation' | 'idempotencyKey'> {
  /** Called after each run of a test, before the verdict. A test runs twice if a wall limit ended it on a busy host. */
  readonly onTest?: ((name: string, run: RunResult) => unknown) | undefined;
}

export interface GradeResult {
  readonly verdict: Verdict;
  /** The verdict's exact bytes: an output file of the job that judged. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly grading_id: string;
  /** The job that judged. Its attestation is the verdict's signature. */
  readonly job_id: string;
  readonly receipt_sha256: string;
  /** Why tests are `not_run` or `compile_limit`, keyed by the tests' names. The verdict does not state these reasons. */
  readonly notRun: ReadonlyMap<string, string>;
  /** All other jobs of the grading, in the order in which they ended. */
  readonly jobs: readonly string[];
}

export type { Checker, Comparison, GradedTest, GradeGroup, GradeTest, Verdict };

/** The client's functions that a grading needs. */
export interface GradingClient {
  readonly submitGrading: (grading: GradingSubmission, options: SubmitGradingOptions) => Promise<SubmittedGrading>;
  readonly gradingEvents: (grading_id: string, options: CallOptions) => AsyncGenerator<GradingEvent, void>;
  readonly waitForGrading: (grading_id: string, options: CallOptions) => Promise<GradingDetail>;
  readonly upload: (content: string, options: CallOptions) => Promise<StoredBlob>;
  /** An ended job, in the form that `run` returns. */
  readonly ended: (job_id: string, options: CallOptions & Pick<RunOptions, 'limits'>) => Promise<RunResult>;
  readonly submissionOf: typeof submissionOf;
  readonly sha256: Sha256;
  /** The functions that end a grading. Each tries only once, for a few seconds. */
  readonly last: Pick<GradingClient, 'submitGrading'> & {
    readonly cancelGrading: (grading_id: string) => Promise<unknown>;
  };
}

/**
 * @throws TypeError before the request if there are no tests, two tests with the same name, or a test that no job can take
 * @throws TransportFailure `undecodable` if the verdict does not belong to this grading; `unstructured` if the service has
 * no gradings
 */
export async function gradeProgram(
  client: GradingClient,
  program: string | JobSubmission,
  options: GradeOptions,
): Promise<GradeResult> {
  checkGrading(program, options);
  const { signal, idempotencyKey = randomKey() } = options;
  const sent = await bodyOf(program, options, client);
  let body: GradingSubmission | null = null;
  let grading_id: string | null = null;
  let isOwn = true;
  const tell = async (...told: Parameters<NonNullable<GradeOptions['onTest']>>) => {
    isOwn = false;
    await options.onTest?.(...told);
    isOwn = true;
  };
  try {
    body = await withUploads(client, sent, options);
    ({ grading_id } = await client.submitGrading(body, { idempotencyKey, signal }));
    const listening = { ...options, onTest: options.onTest && tell };
    const jobs = await jobsOf(client, { grading_id, isPaired: sent.interactor !== undefined }, listening);
    return await resultOf(client, await client.waitForGrading(grading_id, { signal }), { sent, jobs, signal });
  } catch (error) {
    // The error may be the reason with which the caller aborted the signal.
    if (signal?.aborted) isOwn = false;
    if (isOwn && error instanceof ServiceFailure && grading_id === null)
      throw error.code === 'route_not_found' ? tooOld(error) : error;
    // A callback may throw an error of these classes about another service.
    const tells = isOwn && (error instanceof ServiceFailure || error instanceof TransportFailure);
    if (tells) error.grading_id = grading_id;
    // A service that is away continues the grading once it is back, so the verdict can still be read.
    if (grading_id !== null && tells && isAway(error)) throw error;
    // An interrupted request may have made a grading, so the grading is cancelled. If cancelling fails, `error` says more.
    if (body !== null) await abandon(client, { body, idempotencyKey, grading_id }).catch(() => {});
    throw error;
  }
}

function tooOld(cause: ServiceFailure): TransportFailure {
  const message = 'this service is too old for gradings: a newer service makes the jobs of a grading itself';
  return new TransportFailure('unstructured', message, { status: cause.status, cause });
}

async function abandon(
  { last }: GradingClient,
  { body, idempotencyKey, grading_id }: { body: GradingSubmission; idempotencyKey: string; grading_id: string | null },
): Promise<void> {
  await last.cancelGrading(grading_id ?? (await last.submitGrading(body, { idempotencyKey })).grading_id);
}

type GraderProgram = NonNullable<GradingSubmission['checker']>;

/** The body of the request, with all texts in it. */
async function bodyOf(
  program: string | JobSubmission,
  { tests, checker, interactor, validators, groups, stop, ...options }: GradeOptions,
  { submissionOf }: GradingClient,
): Promise<GradingSubmission> {
  const { language, limits, runtime, minimumIsolation } = options;
  const given = await submissionOf(program, { language, limits, runtime, minimumIsolation });
  const { code, env, files, stdin, args, limits: held, requirements } = given;
  const programs = [defined({ language: given.language, code, env, files, runtime: given.runtime })];
  const grader = async ({ code: text, codes, ...more }: Checker) =>
    defined({ ...(await submissionOf(text, more)), codes }) as GraderProgram;
  const made = tests.map(async ({ name, expected, compare, points, group, checkerArgs, ...test }) => {
    const { stdin: input = stdin, args: words = args, files: own, env: variables } = await submissionOf('', test);
    const judged = { expected, compare, points, group, checker_args: checkerArgs };
    return defined({ name, stdin: input ?? undefined, args: words, files: own, env: variables, ...judged });
  });
  const body = {
    verdict: VERDICT_SCHEMA_2,
    programs: programs as GradingProgram[],
    tests: (await Promise.all(made)) as GradingTest[],
    checker: checker && (await grader(checker)),
    interactor: interactor ? await grader(interactor) : graderIn(interactorOf(program)),
    validators: validators && (await Promise.all(validators.map(grader))),
    groups,
    stop,
    limits: held,
    requirements,
  };
  return defined(body) as GradingSubmission;
}

/** A submission's interactor in the form for a grading: without files to return. */
function graderIn(interactor: JobSubmission['interactor']): GraderProgram | undefined {
  if (interactor === undefined) return undefined;
  const { language, code, args, env, files, runtime, limits } = interactor;
  return defined({ language, code, args, env, files, runtime, limits }) as GraderProgram;
}

function defined(members: object): object {
  return Object.fromEntries(definedEntries(members));
}

/** The most characters of all texts in the request. JSON may spell a character with several bytes. */
const sentCharsMax = 4 * 1024 * 1024;
/** The most bytes of one text in the request. */
const sentBytesMax = 1024 * 1024;

/** Uploads texts that are too long for the request, and then the longest other texts, until the remaining ones fit. */
async function withUploads(
  client: GradingClient,
  { programs, tests, ...rest }: GradingSubmission,
  { signal }: CallOptions,
): Promise<GradingSubmission> {
  const copy = { ...rest, programs: programs.map((one) => ({ ...one })), tests: tests.map((one) => ({ ...one })) };
  const places = [
    ...copy.programs.map((holder) => ({ holder, name: 'code' })),
    ...copy.tests.flatMap((holder) => ['stdin', 'expected'].map((name) => ({ holder, name }))),
  ] as { readonly holder: Record<string, unknown>; readonly name: string }[];
  const texts = places.filter(({ holder, name }) => typeof holder[name] === 'string');
  const lengthOf = ({ holder, name }: (typeof texts)[number]) => (holder[name] as string).length;
  let left = texts.reduce((sum, text) => sum + lengthOf(text), 0);
  for (const text of texts.sort((one, other) => lengthOf(other) - lengthOf(one))) {
    const content = text.holder[text.name] as string;
    if (left <= sentCharsMax && sizeOf(content) <= sentBytesMax) continue;
    left -= content.length;
    const { blob } = await client.upload(content, { signal });
    text.holder[text.name] = { blob };
  }
  return copy;
}

/** A grading's jobs as they end. An event names the program's job, and the receipt of that job names the interactor's job. */
async function jobsOf(
  client: GradingClient,
  { grading_id, isPaired }: { readonly grading_id: string; readonly isPaired: boolean },
  { signal, limits, onTest }: GradeOptions,
): Promise<GradingJobs> {
  const tests = new Map<string, string>();
  const ids = new Set<string>();
  for await (const { kind, data } of client.gradingEvents(grading_id, { signal })) {
    const { name = '', test = null, job_id = '' } = data;
    if (kind !== 'job') continue;
    ids.add(job_id);
    if (test === null || !name?.startsWith('test ')) continue;
    tests.set(test, job_id);
    if (!onTest && !isPaired) continue;
    const run = await client.ended(job_id, { signal, limits });
    if (run.receipt.interaction) ids.add(run.receipt.interaction.peer);
    await onTest?.(test, run);
  }
  return { tests, ids };
}

async function resultOf(
  client: GradingClient,
  { grading_id, graded }: GradingDetail,
  { sent, jobs, signal }: CallOptions & { readonly sent: GradingSubmission; readonly jobs: GradingJobs },
): Promise<GradeResult> {
  const [said] = graded;
  if (!said?.verdict || !jobs.ids.has(said.verdict.job_id)) {
    throw new TransportFailure(
      'undecodable',
      `${grading_id} gave no verdict: ${said?.problem ?? said?.status ?? 'no program'}`,
    );
  }
  const { job_id, receipt_sha256, verdict_sha256 } = said.verdict;
  const judged = await client.ended(job_id, { signal });
  const bytes = judged.files.get('output/verdict.json');
  if (bytes === undefined || (await client.sha256(bytes)) !== verdict_sha256)
    throw new TransportFailure('undecodable', `the verdict of ${job_id} differs from the grading's`);
  const verdict = await verdictOf(bytes, { sent, jobs }, client.sha256);
  const notRun = new Map<string, string>();
  for (const { name, verdict: word, run } of verdict.tests) {
    const job = run ?? verdict.program.build;
    if (job && (word === 'not_run' || word === 'compile_limit')) notRun.set(name, await problemOf(client, job, signal));
  }
  const others = [...jobs.ids].filter((id) => id !== job_id);
  return { verdict, bytes, grading_id, job_id, receipt_sha256, notRun, jobs: others };
}

/** The terminal reasons of programs that ended by themselves or by their limits. Any other program did not run to its end. */
const ENDS = new Set(['exited', 'signaled', 'wall_limit', 'cpu_limit', 'memory_limit', 'compile_failed']);

/** Why a test shows nothing about the program: a problem with the compiler, or the way the test's job ended. */
async function problemOf(client: GradingClient, { job_id }: JobRecord, signal?: AbortSignal): Promise<string> {
  const { status, terminal_reason, violations, stderr } = await client.ended(job_id, { signal });
  const compiler = ENDS.has(terminal_reason ?? '') ? compilerProblem({ terminal_reason, violations, stderr }) : null;
  return compiler ?? `${job_id} ended as ${status}: ${terminal_reason ?? 'no reason is recorded'}`;
}
