/**
 * The folded result: the exact text a program wrote, its artifacts and its violations, now or once the job has ended.
 * Spec § GET /v1/jobs/{id}/result.
 */
import { foldOutput, outputRecords } from '@svc/evidence';
import { type Artifact, type FoldedResult, isTerminal, type Violation } from '@svc/protocol';
import type { JobKey, JobSummary, Store, StoredArtifact } from '../../store/store.ts';
import type { History } from '../history.ts';
import { jobNotFound, shuttingDown } from '../refusals.ts';
import { Deadline } from './deadline.ts';

export interface ResultOptions {
  readonly store: Pick<Store, 'jobSummary' | 'resultEvents' | 'artifacts'>;
  readonly history: Pick<History, 'ended'>;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
}

export interface ResultWait {
  readonly waitSeconds: number;
  /** Aborts when nobody waits any more; the promise then rejects with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Waits up to `waitSeconds` for the job's end, then folds what is stored: the whole result of a job that ended, or what
 * there is so far.
 *
 * @throws ServiceError `job_not_found`; `shutting_down` where the service stops before the wait is over.
 */
export async function result(key: JobKey, wait: ResultWait, options: ResultOptions): Promise<FoldedResult> {
  const { store } = options;
  const job = wait.waitSeconds > 0 ? await waited(key, wait, options) : await store.jobSummary(key);
  if (job === null) throw jobNotFound();
  const events = (await store.resultEvents(key)) ?? [];
  const violations = events.filter(({ kind }) => kind === 'violation').map(({ data }) => data as Violation);
  // Artifacts are stored with the end: those of a job that was not terminal when it was read belong to a later answer.
  const artifacts = isTerminal(job.status) ? ((await store.artifacts(key)) ?? []) : [];
  return {
    job_id: job.job_id,
    status: job.status,
    exit_code: job.exit_code,
    duration_ms: job.duration_ms,
    stdout: foldOutput(outputRecords(events, 'stdout')),
    stderr: foldOutput(outputRecords(events, 'stderr')),
    truncated: job.truncated,
    violations,
    artifacts: artifacts.map(artifact),
  };
}

/** The job as it stands after the wait. An end that came just before the service stops is still an answer. */
async function waited(key: JobKey, wait: ResultWait, { history, shutdown }: ResultOptions): Promise<JobSummary | null> {
  using deadline = new Deadline(Math.ceil(wait.waitSeconds * 1000), [wait.signal, shutdown]);
  const job = await history.ended(key, deadline.signal);
  if (job === null || isTerminal(job.status)) return job;
  wait.signal.throwIfAborted();
  if (shutdown.aborted) throw shuttingDown();
  return job;
}

function artifact({ path, content, size_bytes, sha256 }: StoredArtifact): Artifact {
  return { path, content_base64: Buffer.from(content).toString('base64'), size_bytes, sha256 };
}
