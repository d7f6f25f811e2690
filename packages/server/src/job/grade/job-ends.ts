/** How the jobs of gradings end, in the detail that gradings need. */
import type { Receipt } from '@vouchbox/protocol';
import { compilerProblem } from '@vouchbox/protocol/grading';
import type { JobKey } from '../../store/records/rows.ts';
import { type GradedJobsOptions, resultOf } from './graded-jobs.ts';
import type { JobEnd } from './program-run.ts';
import { stepEnd } from './step-jobs.ts';

/** Terminal reasons that say nothing about the program, because the service could not run it or was stopped. */
const FAILURES = new Set([
  'bootstrap_failed',
  'runtime_failed',
  'server_restarted',
  'server_shutdown',
  'internal_error',
]);
/** How a program itself can end. */
const ENDS = new Set(['exited', 'signaled', 'wall_limit', 'cpu_limit', 'memory_limit', 'compile_failed']);

/** How a job ended; null if it has not ended. If the job no longer exists, the service counts as having failed to run it. */
export async function endOf(
  key: JobKey,
  options: GradedJobsOptions & { readonly hasSteps: boolean },
): Promise<JobEnd | null> {
  const { job_id } = key;
  const ended = await options.store.gradedEnd(key);
  const unknown = { receipt_sha256: '', code_sha256: null, terminal_reason: null, exit_code: null, truncated: false };
  if (ended === null) return { job_id, ...unknown, isFailure: true };
  if (ended.receipt_json === null || ended.receipt_sha256 === null) return null;
  const receipt = JSON.parse(ended.receipt_json) as Receipt;
  const { terminal_reason, exit_code, receipt_sha256 } = ended;
  const reason = terminal_reason ?? '';
  const isJudgeable = ENDS.has(reason) && !(await isCompilerProblem(key, reason, options));
  const step = options.hasSteps ? await stepEnd(key, ended, options) : undefined;
  return {
    ...(step !== undefined && { step }),
    job_id,
    receipt_sha256,
    code_sha256: receipt.code_sha256 ?? null,
    // If the reason is null, the judge says `not_run`.
    terminal_reason: isJudgeable ? terminal_reason : null,
    exit_code,
    truncated: receipt.executor_output?.stdout.executor_truncated ?? ended.truncated,
    // If the service failed to run one job of a pair, both are made again, because an interactor may outlive its program.
    isFailure: [reason, step?.peer?.terminal_reason ?? ''].some((one) => FAILURES.has(one)),
  };
}

async function isCompilerProblem(key: JobKey, reason: string, options: GradedJobsOptions): Promise<boolean> {
  if (reason === 'exited') return false;
  const { violations, stderr } = await resultOf(key, options);
  return compilerProblem({ terminal_reason: reason, violations, stderr }) !== null;
}
