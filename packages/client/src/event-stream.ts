/** One WebSocket connection to a job's stream, as a sequence of events. It does not reconnect or remove repeated events. */
import type { AnswerRefused, STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import type { EndFrame, JobEvent } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import { answerCheck } from './operation.ts';
import { parseJson } from './parse-json.ts';

/** What the stream needs for sending answers to tool calls. */
export interface Answers {
  /** Opens a socket with the credential itself. Null if the platform cannot do that. */
  connect(url: string): WebSocket | null;
  /** Called if the service refused the answer to this call. */
  refused(call_seq: number): void;
}

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called once the connection is open. */
  readonly onOpen?: () => void;
  /** Called with the last frame if the address asks for one. */
  readonly onEnd?: ((frame: EndFrame) => void) | undefined;
  readonly answers?: Answers | undefined;
}

/** The most events that wait for the reader. A job has at most 10,000 lines from each stream. */
const unreadEventsMax = 100_000;

/** The close code of a stream that has sent everything. */
const finished: (typeof STREAM_CLOSE_CODES)['finished'] = 1000;

const isNoEvent = (frame: unknown): frame is EndFrame & Partial<AnswerRefused> =>
  typeof frame === 'object' && frame !== null && !('kind' in frame);

/** How a stream ended: its close code, or `refused` if it never opened. Platforms do not report why it was refused. */
export type StreamEnd = number | 'refused';

/** Yields each frame's event as it comes, and returns how the stream ended. */
export async function* openEventStream(
  url: string,
  { signal, onOpen, onEnd, answers }: StreamOptions,
): AsyncGenerator<JobEvent, StreamEnd, undefined> {
  const { checkEvent } = await answerCheck();
  signal?.throwIfAborted();
  const socket = answers === undefined ? new WebSocket(url) : answers.connect(url);
  if (socket === null) return 'refused';
  const arrived: JobEvent[] = [];
  let isOpen = false;
  let closed: StreamEnd | null = null;
  let failure = null as { readonly error: unknown } | null;
  let wake = Promise.withResolvers<void>();
  const rouse = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  /** Passes a listener's error on to the reader. */
  const attempt = (work: () => void) => {
    try {
      work();
    } catch (error) {
      failure = { error };
    }
    rouse();
  };
  const onAbort = () => attempt(() => signal?.throwIfAborted());

  signal?.addEventListener('abort', onAbort, { once: true });
  socket.addEventListener('open', () => {
    isOpen = true;
    attempt(() => onOpen?.());
  });
  socket.addEventListener('message', ({ data }) =>
    attempt(() => {
      const frame = parseJson(String(data));
      if (isNoEvent(frame) && frame.answer_refused) answers?.refused(frame.answer_refused.call_seq);
      else if (onEnd !== undefined && isNoEvent(frame)) {
        onEnd(frame);
        closed = finished;
      } else arrived.push(checkEvent(frame));
      // No job has so many events: the reader is not slow, but the service floods it.
      if (arrived.length > unreadEventsMax) throw new TransportFailure('undecodable', 'the stream has no end');
    }),
  );
  socket.addEventListener('close', ({ code }) => {
    closed ??= isOpen ? code : 'refused';
    rouse();
  });
  try {
    for (;;) {
      const next = wake.promise;
      if (failure !== null) throw failure.error;
      if (arrived.length > 0) yield* arrived.splice(0);
      else if (closed !== null) return closed;
      else await next;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    socket.close();
  }
}
