/** The jobs that the steps of a grading plan: what each is given, and how it ended in the words of the steps. */
import type { JobSubmission, Product, Receipt, RequestedSpec, StoredFile, SubmittedFile } from '@vouchbox/protocol';
import {
  endOf,
  type JobText,
  type PlannedSubmission,
  SCORE_FILES,
  type JobEnd as StepEnd,
} from '@vouchbox/protocol/grading-steps';
import type { GradedJobEnd } from '../../store/gradings/reading.ts';
import type { BuiltProduct } from '../../store/jobs/builds.ts';
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

/** What a job is to run, and the program that its own talks to, if there is one. */
export interface StepSpecs {
  readonly spec: RequestedSpec;
  readonly interactor?: RequestedSpec;
}

/** What the job is to run. @throws GradingProblem */
export async function stepSpecs(
  grading: GradingParts,
  { program, step, test }: StepJob,
  options: GradedJobsOptions,
): Promise<StepSpecs> {
  if (step === null) throw new Error('a job that was made before is not made again');
  const { submission, role } = step;
  const own = role === 'test' && test !== null ? (await testContent(grading, test, options)).files : [];
  const spec = await specOf(grading, { program, submission, own }, options);
  const { interactor } = submission;
  if (interactor === undefined) return { spec };
  return { spec, interactor: await specOf(grading, { program, submission: interactor, own: [] }, options) };
}

interface Given {
  readonly program: number;
  readonly submission: PlannedSubmission;
  /** Files of the test. */
  readonly own: readonly SubmittedFile[];
}

async function specOf(
  grading: GradingParts,
  { program, submission, own }: Given,
  options: GradedJobsOptions,
): Promise<RequestedSpec> {
  const stored = await storedOf(grading, { program, code: submission.code }, options);
  const given: StoredFile[] = [];
  for (const file of submission.files ?? []) given.push(await fileOf(grading, file, options));
  const { product, named_stdin: _, ...spec } = parseSubmission(checked(submission, stored));
  const code = stored === null ? submission.code : await textOf(grading, stored.code, options);
  const started = product === undefined ? null : await startedOf(grading.tenant, { ...spec, code, product }, options);
  return {
    ...spec,
    ...(started !== null && { product: started.product }),
    code,
    stdin: submission.stdin === undefined ? null : await plainText(grading, submission.stdin, options),
    files: [
      ...((stored?.files ?? []) as StoredFile[]),
      ...(own as StoredFile[]),
      ...given,
      ...(started === null ? [] : [started.file]),
    ],
  };
}

/** What a build of the program made. @throws GradingProblem if it is not there any more */
async function startedOf(
  tenant: string,
  { product: { job_id }, language, runtime, code }: ParsedProgram & { readonly product: Product },
  { store }: GradedJobsOptions,
): Promise<BuiltProduct> {
  const built = await store.productOf({ tenant, job_id, language, runtime, code, key: null });
  if (built === null) throw new GradingProblem(`what ${job_id} built is not there any more`);
  return built;
}

/** The submission without what is read of the store, so that its other members get their defaults. */
function checked(submission: PlannedSubmission, stored: StoredProgram | null): JobSubmission {
  const { language, runtime, args, env, limits, requirements, outputs, build, product } = submission;
  const members = { language, code: ' ', runtime: stored?.runtime ?? runtime, limits, requirements };
  const ofRun = { args, env: { ...stored?.env, ...env }, outputs, product };
  return JSON.parse(JSON.stringify({ ...members, ...(build === undefined ? ofRun : { build }) })) as JobSubmission;
}

/** The program that the code of a plan stands for; null if it is the code. */
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
  options: GradedJobsOptions,
): Promise<StoredFile> {
  if ('from' in text) return inline(path, await plainText(grading, text, options));
  if (text.secret) {
    if ('sha256' in text) return { path, blob: `sha256:${text.sha256}`, held: true };
    return await held(path, { grading, text: text.text }, options);
  }
  return 'sha256' in text ? { path, blob: `sha256:${text.sha256}` } : inline(path, text.text);
}

async function plainText(grading: GradingParts, text: JobText, options: GradedJobsOptions): Promise<string> {
  if ('text' in text) return text.text;
  if ('from' in text) return (await resultOf({ tenant: grading.tenant, job_id: text.from.job_id }, options)).stdout;
  return await textOf(grading, { blob: `sha256:${text.sha256}` }, options);
}

/** How a job ended, in the words of the steps. Of a pair, the end of the other job is waited for, which is near. */
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
