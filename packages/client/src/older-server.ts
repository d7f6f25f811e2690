/**
 * Fallbacks for the routes that a server older than v0.4 lacks. Such a server has submission, list, detail, cancellation and
 * a stream whose address contains the key. This module is loaded when such a server answers. Spec § Versioning 5.
 */
import { isTerminal, outputText, replayLimitMax } from '@vouchbox/protocol/vocabulary';
import type { FoldedResult, JobDetail, JobEvent, ReplayPage } from './contract-types.ts';
import type { openEventStream } from './event-stream.ts';
import { TransportFailure } from './failure.ts';
import type { ReplayOptions } from './job-options.ts';
import { tooOld } from './older-route.ts';
import { answerCheck, repeated } from './operation.ts';
import type { Session } from './session.ts';
import { legacyStreamPath, streamAddress } from './stream-address.ts';
import { decodeJson } from './transport.ts';

interface Asked {
  readonly signal?: AbortSignal | undefined;
  /** The answer that shows that the route is missing. It is thrown if there is no fallback. */
  readonly missing: TransportFailure;
  /** The caller passes this in, because an import here would make a page load two files first. */
  readonly open: typeof openEventStream;
}

/** An ended job's events after a number. The stream of a running job would not say which events are stored. */
export async function olderReplay(
  session: Session,
  job_id: string,
  { after = 0, limit = replayLimitMax, ...asked }: Asked & Pick<ReplayOptions, 'after' | 'limit'>,
): Promise<ReplayPage> {
  const { status } = await olderDetail(session, job_id, asked);
  if (!isTerminal(status)) throw tooOld('the output of a running job cannot be read', asked.missing);
  const events = await streamed(session, job_id, { ...asked, after, limit });
  const last = events.at(-1);
  return { events, next_cursor: last === undefined || last.kind === 'finished' ? null : last.seq };
}

/** The current result, made from the detail and the events. An older server gives no output files. */
export async function olderResult(session: Session, job_id: string, asked: Asked): Promise<FoldedResult> {
  const detail = await olderDetail(session, job_id, asked);
  if (!isTerminal(detail.status)) return resultOf(detail, []);
  return resultOf(detail, await streamed(session, job_id, { ...asked, after: 0, limit: Number.POSITIVE_INFINITY }));
}

async function olderDetail(session: Session, job_id: string, { signal }: Asked): Promise<JobDetail> {
  const answer = await repeated(session, 'GET /v1/jobs/{id}', { job_id, signal });
  return (await answerCheck()).checkOlderDetail(decodeJson(answer), job_id);
}

async function streamed(
  session: Session,
  job_id: string,
  { after, limit, signal, missing, open }: Asked & { readonly after: number; readonly limit: number },
): Promise<JobEvent[]> {
  if (session.legacy === 'none') {
    throw tooOld("its events come only over the stream, which needs the option legacy: 'key-in-stream-url'", missing);
  }
  const events: JobEvent[] = [];
  let last = after;
  const address = streamAddress(session, legacyStreamPath(session, job_id), after);
  for await (const event of open(address, { signal })) {
    if (event.seq > last) events.push(event);
    last = Math.max(last, event.seq);
    if (events.length === limit || event.kind === 'finished') return events;
  }
  throw new TransportFailure('network', 'the stream ended before the job did');
}

function resultOf({ job_id, status, exit_code, duration_ms }: JobDetail, events: readonly JobEvent[]): FoldedResult {
  const outputOf = (stream: 'stdout' | 'stderr') =>
    events.map((event) => (event.kind === stream ? outputText(event.data) : '')).join('');
  return {
    job_id,
    status,
    exit_code: exit_code ?? null,
    duration_ms: duration_ms ?? null,
    stdout: outputOf('stdout'),
    stderr: outputOf('stderr'),
    truncated: events.some(({ kind }) => kind === 'truncated'),
    violations: events.flatMap((event) => (event.kind === 'violation' ? [event.data] : [])),
    artifacts: [],
  };
}
