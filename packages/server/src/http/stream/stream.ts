/**
 * One job's history over one WebSocket: the stored events after the cursor, then new events, with one frame for each. The
 * stream is closed after the terminal event, or after one more frame with the job's outcome. The next page is read only
 * when the reader has taken the previous page, so a slow reader holds only one page. Spec § WebSocket stream.
 */
import { type EndFrame, type FilledQueryOf, STREAM_CLOSE_CODES } from '@vouchbox/protocol';
import type { WebSocket } from 'ws';
import { bodyOf, longObject } from '../../job/body.ts';
import type { Jobs } from '../../job/jobs.ts';
import { endParts } from '../../job/view/end-parts.ts';
import type { Log } from '../../telemetry/log/log.ts';
import { takeAnswers } from './stream-answers.ts';
import { lifeOfStream, type StreamLifeOptions } from './stream-life.ts';

/** How many bytes may wait in this process for one reader before the next event is sent. */
const bufferedBytesMax = 64 * 1024;

export interface StreamOptions extends StreamLifeOptions {
  readonly jobs: Pick<Jobs, 'tail' | 'result' | 'receipt' | 'answerToolCall'>;
  readonly job_id: string;
  /** The cursor: only events after this one are sent. */
  readonly after: number;
  /** The members of the additional last frame; empty if there is no such frame. */
  readonly include: FilledQueryOf<'streamEvents'>['include'];
  readonly log: Log;
  readonly requestId: string;
}

/** Serves an admitted stream. Resolves when there is nothing more to send. */
export async function serveStream(socket: WebSocket, options: StreamOptions): Promise<void> {
  using life = lifeOfStream(socket, options);
  if (options.takesMessages === true) {
    const failed = (error: unknown) => {
      options.log.error({ request_id: options.requestId, err: error }, 'an answer could not be stored');
      life.endFor('failed');
    };
    takeAnswers(socket, { ...options, end: () => life.endFor('messageSent'), failed });
  }
  try {
    await sendEvents(socket, options, life.signal);
    if (options.include.length > 0 && !life.signal.aborted) await sendEnd(socket, options, life.signal);
    if (life.signal.aborted) return;
    socket.close(STREAM_CLOSE_CODES.finished);
    // Once the close frame was sent, the service does not wait for the client to answer it.
    options.connections.closeWhenSent(options.connection);
  } catch (error) {
    if (life.signal.aborted) return;
    options.log.error({ request_id: options.requestId, err: error }, 'stream failed');
    socket.close(STREAM_CLOSE_CODES.failed);
    options.connections.closeWhenSent(options.connection);
  }
}

async function sendEvents(socket: WebSocket, options: StreamOptions, signal: AbortSignal): Promise<void> {
  const { jobs, caller, job_id, after } = options;
  for await (const events of jobs.tail(caller, job_id, { after, signal })) {
    for (const event of events) {
      if (signal.aborted) return;
      const taken = send(socket, event);
      if (socket.bufferedAmount > bufferedBytesMax) await taken;
    }
  }
}

/** Sends the job's outcome as one message. Each piece of a long outcome is read when the reader has taken the previous piece. */
async function sendEnd(socket: WebSocket, options: StreamOptions, signal: AbortSignal): Promise<void> {
  const { jobs, caller, job_id, include } = options;
  const parts = await endParts(include, {
    result: () => jobs.result(caller, job_id, { waitSeconds: 0, signal }),
    receipt: () => jobs.receipt(caller, job_id),
  });
  if (Object.keys(parts).length === 0) return;
  for await (const piece of bodyOf(longObject<EndFrame>(parts)).pieces()) {
    if (signal.aborted) return;
    await send(socket, piece, { binary: false, fin: false });
  }
  await send(socket, '', { binary: false, fin: true });
}

/** Resolves when the frame and everything before it was passed to the kernel, or can no longer be sent. */
function send(socket: WebSocket, frame: string | Uint8Array, part = { binary: false, fin: true }): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // A failed write closes the socket, and that ends the stream.
  socket.send(frame, part, () => resolve());
  return promise;
}
