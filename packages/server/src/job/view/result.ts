/**
 * The folded result: the exact text a program wrote, its artifacts and its violations, now or once the job has ended.
 * Spec § GET /v1/jobs/{id}/result.
 */
import { type ArtifactRecord, isTerminal, type JobStatus } from '@svc/protocol';
import type { JobKey, JobSummary, LongTextKind } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { type Body, bodyOf, type Part } from '../body.ts';
import type { History } from '../history.ts';
import { jobNotFound, shuttingDown } from '../refusals.ts';
import { Deadline } from './deadline.ts';
import { base64Part, textPart } from './long-parts.ts';

export interface ResultOptions {
  readonly store: Pick<Store, 'jobSummary' | 'textExtent' | 'textPiece' | 'artifactRecords' | 'artifactPiece'>;
  readonly history: Pick<History, 'ended'>;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
}

export interface ResultWait {
  readonly waitSeconds: number;
  /** Aborts when nobody waits any more; the promise then rejects with its reason. */
  readonly signal: AbortSignal;
}

/** How the job stands, and the JSON text of its `FoldedResult`. */
export interface ResultAnswer {
  readonly status: JobStatus;
  readonly body: Body;
}

/** More events than this no job has. */
const eventsMax = 2 ** 31 - 1;

/**
 * Waits up to `waitSeconds` for the job's end, then folds what is stored: the whole result of a job that ended, or what
 * there is so far.
 *
 * @throws ServiceError `job_not_found`; `shutting_down` where the service stops before the wait is over.
 */
export async function result(key: JobKey, wait: ResultWait, options: ResultOptions): Promise<ResultAnswer> {
  const { store } = options;
  const job = wait.waitSeconds > 0 ? await waited(key, wait, options) : await store.jobSummary(key);
  if (job === null) throw jobNotFound();
  const text = async (kind: LongTextKind): Promise<Part> => {
    const extent = await store.textExtent({ key, kind, after: 0, limit: eventsMax });
    if (extent === null) throw jobNotFound();
    return textPart(store, key, { kind, extent });
  };
  const [stdout, stderr, violations, artifacts] = await Promise.all([
    text('stdout'),
    text('stderr'),
    text('violations'),
    // Artifacts are stored with the end: those of a job that was not terminal when it was read belong to a later answer.
    isTerminal(job.status) ? store.artifactRecords(key) : [],
  ]);
  // Looked at again where output may have been cut since: no text may be longer than this member knows of.
  const { truncated } = isTerminal(job.status) ? job : ((await store.jobSummary(key)) ?? job);
  const { job_id, status, exit_code, duration_ms } = job;
  const body = bodyOf([
    `${JSON.stringify({ job_id, status, exit_code, duration_ms }).slice(0, -1)},"stdout":"`,
    stdout,
    '","stderr":"',
    stderr,
    `","truncated":${truncated},"violations":[`,
    violations,
    '],"artifacts":[',
    ...artifacts.flatMap((record, index) => artifactParts(store, key, { record, index })),
    ']}',
  ]);
  return { status, body };
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

function artifactParts(
  store: ResultOptions['store'],
  key: JobKey,
  { record, index }: { record: ArtifactRecord; index: number },
): Part[] {
  const { path, size_bytes, sha256 } = record;
  return [
    `${index === 0 ? '' : ','}{"path":${JSON.stringify(path)},"content_base64":"`,
    base64Part(store, key, record),
    `",${JSON.stringify({ size_bytes, sha256 }).slice(1)}`,
  ];
}
