/**
 * The folded result: the exact text that a program wrote, its artifacts and its violations, at once or after the job's end.
 * Spec § GET /v1/jobs/{id}/result.
 */
import {
  type Artifact,
  type ArtifactRecord,
  type FoldedResult,
  isForLinks,
  isTerminal,
  type LinkPart,
} from '@vouchbox/protocol';
import { Deadline } from '../../ground/waiting/deadline.ts';
import { movedBytesMin } from '../../store/objects/content-places.ts';
import type { LongTextKind } from '../../store/records/answers.ts';
import type { JobKey, JobSummary } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { type Body, bodyOf, LongJson, longArray, longObject } from '../body.ts';
import { type History, refuseInterrupted, type Wait } from '../history.ts';
import type { ObjectContents } from '../object-contents.ts';
import { jobNotFound } from '../refusals.ts';
import { longBase64, longText } from './long-parts.ts';

export interface ResultOptions {
  readonly store: Pick<
    Store,
    | 'shortResult'
    | 'jobSummary'
    | 'textExtent'
    | 'textPiece'
    | 'artifactRecords'
    | 'artifactPiece'
    | 'objectOfArtifact'
    | 'largeOutputs'
  >;
  readonly objects: Pick<ObjectContents, 'read' | 'check'>;
  readonly history: Pick<History, 'ended'>;
  /** Aborts when the service stops. */
  readonly shutdown: AbortSignal;
}

export interface ResultWait extends Wait {
  /** The parts that a link shows. By default, the answer has all parts. */
  readonly shows?: readonly LinkPart[];
}

/** Whether the job has ended, and the JSON text of its `FoldedResult`. */
export interface ResultAnswer {
  readonly hasEnded: boolean;
  readonly body: Body<FoldedResult>;
}

/** More events than any job has. */
export const eventsMax = 2 ** 31 - 1;

/**
 * Waits up to `waitSeconds` for the job's end, then folds the stored events into the whole result, or into the result so
 * far if the job has not ended.
 *
 * @throws ServiceError `job_not_found`; `shutting_down` if the service stops before the wait is over.
 */
export async function result(key: JobKey, wait: ResultWait, options: ResultOptions): Promise<ResultAnswer> {
  const { store } = options;
  const { shows } = wait;
  let short = shows === undefined ? store.shortResult(key) : null;
  if (short === null && wait.waitSeconds > 0) {
    await endOrDeadline(key, wait, options);
    short = store.shortResult(key);
  }
  if (short !== null) return { hasEnded: true, body: bodyOf(new LongJson<FoldedResult>(short)) };
  const job = await store.jobSummary(key);
  if (job === null) throw jobNotFound();
  // If the job ended just before the service stops, the result is still sent.
  if (!isTerminal(job.status)) refuseInterrupted(wait, options);
  return { hasEnded: isTerminal(job.status), body: await bodyAsItStands(key, job, options, shows) };
}

async function bodyAsItStands(
  key: JobKey,
  job: JobSummary,
  options: ResultOptions,
  shows: readonly LinkPart[] | undefined,
): Promise<Body<FoldedResult>> {
  const { store } = options;
  // Files are stored with the end. If the job was not terminal when this answer read it, the files belong in a later answer.
  const hasFiles = isTerminal(job.status) && (shows?.includes('files') ?? true);
  const isShown = (file: ArtifactRecord) => shows === undefined || isForLinks(file);
  const text = async <Kind extends LongTextKind>(kind: Kind) => {
    const extent = await store.textExtent({ key, kind, after: 0, limit: eventsMax });
    if (extent === null) throw jobNotFound();
    return longText(store, key, { kind, extent });
  };
  const [stdout, stderr, violations, artifacts, large_outputs] = await Promise.all([
    text('stdout'),
    text('stderr'),
    text('violations'),
    hasFiles ? readableArtifacts(key, options) : [],
    hasFiles ? store.largeOutputs(key) : null,
  ]);
  // The job is read again, because output may have been cut since then, and `truncated` must cover every text that is sent.
  const { truncated } = isTerminal(job.status) ? job : ((await store.jobSummary(key)) ?? job);
  return bodyOf(
    longObject<FoldedResult>({
      job_id: job.job_id,
      status: job.status,
      exit_code: job.exit_code,
      duration_ms: job.duration_ms,
      stdout,
      stderr,
      truncated,
      violations,
      artifacts: longArray(artifacts.filter(isShown).map((record) => longArtifact(options, key, record))),
      ...(large_outputs !== null && { large_outputs: large_outputs.filter(isShown) }),
    }),
  );
}

function longArtifact(options: ResultOptions, key: JobKey, record: ArtifactRecord): LongJson<Artifact> {
  const { path, size_bytes, sha256 } = record;
  return longObject<Artifact>({ path, content_base64: longBase64(options, key, record), size_bytes, sha256 });
}

/** A job's artifacts. A missing object is noticed here, before any part of the answer is sent. @throws ObjectError */
async function readableArtifacts(key: JobKey, { store, objects }: ResultOptions): Promise<readonly ArtifactRecord[]> {
  const records = await store.artifactRecords(key);
  const large = records.filter(({ size_bytes }) => size_bytes >= movedBytesMin);
  const found = await Promise.all(large.map(({ path }) => store.objectOfArtifact({ key, path })));
  await Promise.all(found.filter((object) => object !== null).map((object) => objects.check(object)));
  return records;
}

/** Waits until the job has ended, the time is up, the client is gone, or the service stops. */
async function endOrDeadline(key: JobKey, wait: ResultWait, { history, shutdown }: ResultOptions): Promise<void> {
  using deadline = new Deadline(Math.ceil(wait.waitSeconds * 1000), [wait.signal, shutdown]);
  await history.ended(key, deadline.signal);
}
