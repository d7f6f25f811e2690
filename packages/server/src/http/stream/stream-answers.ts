/**
 * Answers to calls of tools that come as messages of a stream. They are taken one after the other, in their order, and while
 * many wait nothing more is read from the client. A message that is no answer ends the stream, and so do too many that
 * change nothing.
 */
import { type AnswerRefused, fits, idleAnswersMax, StreamedToolAnswer, toolTokensMax } from '@vouchbox/protocol';
import type { WebSocket } from 'ws';
import type { Caller } from '../../ground/caller.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { parseStrictJson } from '../../ground/strict-json.ts';
import type { Jobs } from '../../job/jobs.ts';

/** Bytes of messages that wait before the client must. */
const waitingBytesMax = 1024 * 1024;

export interface AnswersOptions {
  readonly jobs: Pick<Jobs, 'answerToolCall'>;
  readonly caller: Caller;
  readonly job_id: string;
  /** Ends the stream: the client sent what it may not send. */
  readonly end: () => void;
  /** Ends the stream: an answer could not be stored. */
  readonly failed: (error: unknown) => void;
}

/** Takes answers from a stream until it closes. */
export function takeAnswers(socket: WebSocket, options: AnswersOptions): void {
  let waitingBytes = 0;
  let idle = 0;
  let taking = Promise.resolve();
  socket.on('message', (message: Buffer, isBinary: boolean) => {
    if (isBinary) return options.end();
    waitingBytes += message.byteLength;
    if (waitingBytes > waitingBytesMax) socket.pause();
    taking = taking.then(async () => {
      if (socket.readyState !== socket.OPEN) return;
      idle += (await taken(socket, message, options)) ? 0 : 1;
      if (idle > idleAnswersMax) options.end();
      waitingBytes -= message.byteLength;
      if (waitingBytes <= waitingBytesMax) socket.resume();
    });
  });
}

/** Whether a message changed anything. */
async function taken(socket: WebSocket, message: Buffer, options: AnswersOptions): Promise<boolean> {
  const read = await answerIn(message);
  if (read === null) {
    options.end();
    return false;
  }
  const { call_seq, ...answer } = read;
  try {
    return !(await options.jobs.answerToolCall(options.caller, options.job_id, { seq: call_seq, answer })).replayed;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) options.failed(error);
    else {
      const { code, message: text, retryable } = error;
      socket.send(
        JSON.stringify({ answer_refused: { call_seq, code, message: text, retryable } } satisfies AnswerRefused),
      );
    }
    return false;
  }
}

/** Null for a message that is no answer. */
async function answerIn(message: Buffer): Promise<StreamedToolAnswer | null> {
  try {
    const read = await parseStrictJson(message, { tokensMax: toolTokensMax });
    return fits(StreamedToolAnswer, read) ? read : null;
  } catch {
    return null;
  }
}
