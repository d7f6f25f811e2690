/**
 * Answers to tool calls that arrive as messages on a stream. Several answers are taken at a time, so that they share a
 * commit. While many answers wait, nothing more is read from the client. A message that is not an answer ends the
 * stream, and so do too many messages that change nothing.
 */
import { type AnswerRefused, fits, idleAnswersMax, StreamedToolAnswer, toolTokensMax } from '@vouchbox/protocol';
import type { WebSocket } from 'ws';
import type { Caller } from '../../ground/caller.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { parseStrictJson } from '../../ground/strict-json.ts';
import type { Jobs } from '../../job/jobs.ts';

/** How many bytes of messages may wait. Beyond that, nothing more is read from the client. */
const waitingBytesMax = 1024 * 1024;
/** How many answers from one stream are taken at the same time. */
const answersAtOnce = 64;

export interface AnswersOptions {
  readonly jobs: Pick<Jobs, 'answerToolCall'>;
  readonly caller: Caller;
  readonly job_id: string;
  /** Ends the stream because the client sent a forbidden message. */
  readonly end: () => void;
  /** Ends the stream because an answer could not be stored. */
  readonly failed: (error: unknown) => void;
}

/** Takes answers from a stream until the stream closes. */
export function takeAnswers(socket: WebSocket, options: AnswersOptions): void {
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  let underWay = 0;
  let idle = 0;
  const takeNext = async (message: Buffer) => {
    underWay++;
    const hasChanged = await taken(socket, message, options);
    if (!hasChanged) idle++;
    underWay--;
    waitingBytes -= message.byteLength;
    if (idle > idleAnswersMax) options.end();
    else if (waitingBytes <= waitingBytesMax) socket.resume();
    takeSome();
  };
  const takeSome = () => {
    while (underWay < answersAtOnce && socket.readyState === socket.OPEN) {
      const message = waiting.shift();
      if (message === undefined) return;
      void takeNext(message);
    }
  };
  socket.on('message', (message: Buffer, isBinary: boolean) => {
    if (isBinary) return options.end();
    waiting.push(message);
    waitingBytes += message.byteLength;
    if (waitingBytes > waitingBytesMax) socket.pause();
    takeSome();
  });
}

/** Takes a message. Resolves to whether the message changed anything. */
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

/** The answer in a message; null if it has none. */
async function answerIn(message: Buffer): Promise<StreamedToolAnswer | null> {
  try {
    const read = await parseStrictJson(message, { tokensMax: toolTokensMax });
    return fits(StreamedToolAnswer, read) ? read : null;
  } catch {
    return null;
  }
}
