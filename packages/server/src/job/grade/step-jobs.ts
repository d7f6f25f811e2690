/** The jobs that a grading's steps plan: the input of each job, and its end in the words that the steps use. */
import type {
  JobSubmission,
  OutputName,
  Product,
  Receipt,
  RequestedSpec,
  StoredFile,
  StoredStdin,
  SubmittedFile,
} from '@vouchbox/protocol';
import {
  endOf,
  type JobText,
  type PlannedSubmission,
  SCORE_FILES,
  STDOUT_FILE,
  type JobEnd as StepEnd,
} from '@vouchbox/protocol/grading-steps';
import type { BuiltProduct } from '../../store/jobs/builds.ts';
import type { GradedJobEnd } from '../../store/records/answers.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { type ParsedProgram, parseSubmission } from '../admit/submission.ts';
import {
  type GradedJobsOptions,
  type GradingParts,
  GradingProblem,
  held,
  inline,
  programContent,
  resultOf,
  testContent,
  textOf,
} from './graded-jobs.ts';
import { gradersOf, type StoredProgram } from './grading-body.ts';
import { PROGRAM, type StepJob } from './plan-run.ts';

export interface StepOptions extends GradedJobsOptions {
  /** The most bytes that all blobs of a tenant may have together. */
  readonly blobBytesMax: number;
}

/** The specification of a job, and the specification of the interactor that the job's program talks to, if there is one. */
export interface StepSpecs {
  readonly spec: RequestedSpec;
  readonly interactor?: RequestedSpec;
}

/** The specification of a planned job. @throws GradingProblem */
export async function stepSpecs(
  grading: GradingParts,
  { program, step, test }: StepJob,
  options: StepOptions,
): Promise<StepSpecs> {
  if (step === null) throw new Error('an existing job is not made again');
  const { submission, role } = step;
  const hasOwn = role === 'test' && test !== null && grading.withFiles.has(test);
  const own = hasOwn ? (await testContent(grading, test, options)).files : [];
  const spec = await specOf(grading, { program, submission, own }, options);
  const { interactor } = submission;
  if (interactor === undefined) return { spec };
  return { spec, interactor: await specOf(grading, { program, submission: interactor, own: [] }, options) };
}

interface Given {
  readonly program: number;
  readonly submission: PlannedSubmission;
  /** The test's own files. */
  readonly own: readonly SubmittedFile[];
}

async function specOf(
  grading: GradingParts,
  { program, submission, own }: Given,
  options: StepOptions,
): Promise<RequestedSpec> {
  const stored = await storedOf(grading, { program, code: submission.code }, options);
  const given: StoredFile[] = [];
  for (const file of submission.files ?? []) given.push(await fileOf(grading, file, options));
  const { product, named_stdin: _, ...spec } = parseSubmission(checked(submission, stored, options));
  const code = stored === null ? submission.code : await textOf(grading, stored.code, options);
  const started = product === undefined ? null : await startedOf(grading, { ...spec, code, product }, options);
  return {
    ...spec,
    ...(started !== null && { product: started.product }),
    code,
    ...(await stdinOf(grading, submission.stdin, options)),
    files: [
      ...((stored?.files ?? []) as StoredFile[]),
      ...(own as StoredFile[]),
      ...given,
      ...(started === null ? [] : [started.file]),
    ],
  };
}

/** The product of the program's build. @throws GradingProblem if the product no longer exists */
async function startedOf(
  { tenant, products }: GradingParts,
  { product: { job_id }, language, runtime, code }: ParsedProgram & { readonly product: Product },
  { store }: GradedJobsOptions,
): Promise<BuiltProduct> {
  const built = products.get(job_id) ?? (await store.productOf({ tenant, job_id, language, runtime, code, key: null }));
  if (built === null) throw new GradingProblem(`the product of ${job_id} is gone`);
  products.set(job_id, built);
  return built;
}

/** Checks the submission without the parts that come from the store, so that the other members get their defaults. */
function checked(
  { large_outputs: large, ...submission }: PlannedSubmission,
  stored: StoredProgram | null,
  { blobBytesMax }: StepOptions,
): JobSubmission {
  const { language, runtime, args, env, limits, requirements, outputs, build, product } = submission;
  const members = { language, code: ' ', runtime: stored?.runtime ?? runtime, limits, requirements };
  // An output larger than the bound for all the tenant's blobs would never find room.
  const whole = large && { large_outputs: { ...large, max_bytes: Math.min(large.max_bytes, blobBytesMax) } };
  const ofRun = { args, env: { ...stored?.env, ...env }, outputs, product, ...whole };
  return JSON.parse(JSON.stringify({ ...members, ...(build === undefined ? ofRun : { build }) })) as JobSubmission;
}

/** The stored program that the code in a plan stands for; null if the plan contains the code itself. */
async function storedOf(
  grading: GradingParts,
  { program, code }: { readonly program: number; readonly code: string },
  options: GradedJobsOptions,
): Promise<StoredProgram | null> {
  if (code === PROGRAM) return await programContent(grading, program, options);
  return gradersOf(grading.common).find(({ pointer }) => code === pointer)?.grader ?? null;
}

async function fileOf(
  grading: GradingParts,
  { path, ...text }: { readonly path: string } & JobText,
  options: StepOptions,
): Promise<StoredFile> {
  if ('from' in text) {
    const named = await outputOf(grading, text.from, options);
    return 'text' in named ? inline(path, named.text) : { path, ...named };
  }
  if (text.secret) {
    if ('sha256' in text) return { path, blob: `sha256:${text.sha256}`, held: true };
    return await held(path, { grading, text: text.text }, options);
  }
  return 'sha256' in text ? { path, blob: `sha256:${text.sha256}` } : inline(path, text.text);
}

async function stdinOf(
  grading: GradingParts,
  stdin: JobText | undefined,
  options: StepOptions,
): Promise<Pick<RequestedSpec, 'stdin' | 'named_stdin'>> {
  if (stdin === undefined) return { stdin: null };
  if ('text' in stdin) return { stdin: stdin.text };
  if ('sha256' in stdin) return { stdin: null, named_stdin: { blob: `sha256:${stdin.sha256}` } };
  const output = await outputOf(grading, stdin.from, options);
  return 'text' in output ? { stdin: output.text } : { stdin: null, named_stdin: output };
}

/** A job's output: the text, or the digest if the job's events do not have the whole text. */
async function outputOf(
  { tenant }: GradingParts,
  from: OutputName,
  options: StepOptions,
): Promise<Required<StoredStdin> | { readonly text: string }> {
  const files = [{ path: STDOUT_FILE, from }];
  const [kept = null] = await options.store.inputs({ tenant, files, key: null, mayReadJobs: true });
  if (kept === null) return { text: (await resultOf({ tenant, job_id: from.job_id }, options)).stdout };
  return { from, blob: kept.blob };
}

/** How a job ended, in the words that the steps use. For a pair, this also waits for the other job's end, which comes soon. */
export async function stepEnd(key: JobKey, ended: GradedJobEnd, options: GradedJobsOptions): Promise<StepEnd> {
  const { terminal_reason, exit_code, truncated } = ended;
  const { stdout, stderr, violations, artifacts } = await resultOf(key, options);
  const stored = JSON.parse(ended.receipt_json ?? '{}') as Receipt;
  const receipt = { ...stored, receipt_sha256: ended.receipt_sha256 ?? '' };
  const said = { job_id: key.job_id, terminal_reason, exit_code, stdout, stderr, truncated, violations, receipt };
  const end = endOf(said as Parameters<typeof endOf>[0], (path) => {
    const found = SCORE_FILES.some(([name]) => name === path)
      ? artifacts.find((file) => file.path === path)
      : undefined;
    return found && Buffer.from(found.content_base64, 'base64').toString();
  });
  if (stored.interaction?.role !== 'program') return end;
  const peer = { tenant: key.tenant, job_id: stored.interaction.peer };
  await options.history.ended(peer, options.shutdown);
  const other = await options.store.gradedEnd(peer);
  return other === null ? end : { ...end, peer: await stepEnd(peer, other, options) };
}
