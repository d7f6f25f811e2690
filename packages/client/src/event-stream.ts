/** One WebSocket connection to a job's stream, as a sequence of events. It neither reconnects nor removes repeats. */
import type { JobEvent } from './contract-types.ts';
import { TransportFailure } from './failure.ts';
import { parseJson } from './parse-json.ts';

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called once the connection is open. */
  readonly onOpen?: () => void;
}

/** How a stream ended: with a close code, or without having opened, for a reason that platforms do not report. */
export type StreamEnd = number | 'refused';

/** Yields each frame's event as it comes, and returns how the stream ended. */
export async function* openEventStream(
  url: string,
  { signal, onOpen }: StreamOptions,
): AsyncGenerator<JobEvent, StreamEnd, undefined> {
  signal?.throwIfAborted();
  const socket = new WebSocket(url);
  const arrived: JobEvent[] = [];
  let isOpen = false;
  let closed: StreamEnd | null = null;
  let failure: unknown = null;
  let wake = Promise.withResolvers<void>();
  const rouse = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const onAbort = () => {
    failure = signal?.reason;
    rouse();
  };

  signal?.addEventListener('abort', onAbort, { once: true });
  socket.addEventListener('open', () => {
    isOpen = true;
    onOpen?.();
  });
  socket.addEventListener('message', ({ data }) => {
    try {
      arrived.push(decodeFrame(data));
    } catch (error) {
      failure = error;
    }
    rouse();
  });
  socket.addEventListener('close', ({ code }) => {
    closed = isOpen ? code : 'refused';
    rouse();
  });
  try {
    for (;;) {
      const next = wake.promise;
      if (failure !== null) throw failure;
      if (arrived.length > 0) yield* arrived.splice(0);
      else if (closed !== null) return closed;
      else await next;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    socket.close();
  }
}

function decodeFrame(data: unknown): JobEvent {
  const event = parseJson(String(data)) as JobEvent | null | undefined;
  if (event && Number.isInteger(event.seq)) return event;
  throw new TransportFailure('undecodable', 'a frame of the stream is not an event');
}
