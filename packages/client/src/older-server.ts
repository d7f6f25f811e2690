/**
 * Fallbacks for the routes that a server older than v0.4 lacks. Such a server has submission, list, detail,
 * cancellation and the stream with the key in its address, and answers other paths with 404. Only an answer without the
 * error envelope shows that: a structured refusal never leads here. Spec § Versioning 5, § Errors.
 */
import type { EventData, FoldedResult, JobDetail, JobEvent, ReplayPage } from '@vouchbox/protocol';
import { isTerminal, jobPath } from '@vouchbox/protocol/vocabulary';
import { delayMilliseconds, type RetryPolicy, type Sleep } from './backoff.ts';
import { openEventStream } from './event-stream.ts';
import { TransportFailure } from './failure.ts';
import { streamAddress } from './stream-address.ts';
import type { Endpoint } from './transport.ts';

export interface OlderServerOptions {
  readonly endpoint: Endpoint;
  /** Whether the caller allows the key in the address of a stream. Without it an older server gives no events. */
  readonly legacy: 'none' | 'key-in-stream-url';
  readonly policy: RetryPolicy;
  readonly sleep: Sleep;
  readonly detail: (job_id: string, options: { readonly signal?: AbortSignal | undefined }) => Promise<JobDetail>;
}

interface Asked {
  readonly signal?: AbortSignal | undefined;
  /** Why the route is taken for missing. It is thrown if there is no fallback. */
  readonly missing: unknown;
}

export interface OlderServer {
  /**
   * The events after a number, of a job that has ended: the stream of a running one does not say which events are
   * stored.
   */
  replay(job_id: string, asked: Asked & { readonly after: number; readonly limit: number }): Promise<ReplayPage>;
  /** The result, made from the detail and the events. An older server gives no output files. */
  result(job_id: string, asked: Asked & { readonly waitSeconds: number }): Promise<FoldedResult>;
}

/** Whether a server answered, without the error envelope, that it has no such route. */
export function isRouteMissing(error: unknown): error is TransportFailure {
  const isUnstructured = error instanceof TransportFailure && error.reason === 'unstructured';
  return isUnstructured && [404, 405, 501].includes(error.status ?? 0);
}

/** Says which part an older server cannot give. */
export function tooOld(what: string, cause: unknown): TransportFailure {
  const status = cause instanceof TransportFailure && cause.status !== null ? { status: cause.status } : {};
  return new TransportFailure('unstructured', `this server is older than v0.4: ${what}`, { ...status, cause });
}

export function createOlderServer({ endpoint, legacy, policy, sleep, detail }: OlderServerOptions): OlderServer {
  async function* events(job_id: string, after: number, { signal, missing }: Asked): AsyncGenerator<JobEvent, void> {
    if (legacy === 'none') {
      throw tooOld(
        "its events come by the stream alone, and only with the option legacy: 'key-in-stream-url'",
        missing,
      );
    }
    let last = after;
    const source = openEventStream(streamAddress(endpoint, legacyStreamPath(endpoint, job_id), after), { signal });
    for await (const event of source) {
      if (event.seq <= last) continue;
      last = event.seq;
      yield event;
      if (event.kind === 'finished') return;
    }
    throw new TransportFailure('network', 'the stream ended before the job did');
  }

  return {
    async replay(job_id, { after, limit, ...asked }) {
      const { status } = await detail(job_id, asked);
      if (!isTerminal(status)) throw tooOld('the output of a running job cannot be read', asked.missing);
      const page: JobEvent[] = [];
      for await (const event of events(job_id, after, asked)) {
        page.push(event);
        if (page.length === limit) break;
      }
      const last = page.at(-1);
      return { events: page, next_cursor: last === undefined || last.kind === 'finished' ? null : last.seq };
    },
    async result(job_id, { waitSeconds, ...asked }) {
      const end = performance.now() + waitSeconds * 1000;
      let found = await detail(job_id, asked);
      for (let tries = 1; !isTerminal(found.status) && performance.now() < end; tries++) {
        await sleep(
          Math.min(delayMilliseconds(policy, tries, Math.random(), null), end - performance.now()),
          asked.signal,
        );
        found = await detail(job_id, asked);
      }
      const history = isTerminal(found.status) ? await Array.fromAsync(events(job_id, 0, asked)) : [];
      return resultOf(found, history);
    },
  };
}

/** The address from before stream tickets, only for a caller who allowed the key in it. Spec § Authentication 6. */
export function legacyStreamPath({ apiKey }: Endpoint, job_id: string): string {
  return `${jobPath('streamEvents', job_id)}?api_key=${encodeURIComponent(apiKey ?? '')}`;
}

function resultOf({ job_id, status, exit_code, duration_ms }: JobDetail, events: readonly JobEvent[]): FoldedResult {
  const outputOf = (stream: 'stdout' | 'stderr') =>
    events
      .filter(({ kind }) => kind === stream)
      .map(({ data }) => data as EventData<'stdout'>)
      .map(({ text, partial }) => (partial === true ? text : `${text}\n`))
      .join('');
  return {
    job_id,
    status,
    exit_code: exit_code ?? null,
    duration_ms: duration_ms ?? null,
    stdout: outputOf('stdout'),
    stderr: outputOf('stderr'),
    truncated: events.some(({ kind }) => kind === 'truncated'),
    violations: events.filter(({ kind }) => kind === 'violation').map(({ data }) => data as EventData<'violation'>),
    artifacts: [],
  };
}
