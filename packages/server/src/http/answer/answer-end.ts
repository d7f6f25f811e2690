/** Ties what a request holds to the end of its answer: sent to the last byte, or the connection torn down. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Permit, PermitKind, Permits } from '../../capacity/permits.ts';
import { resetConnection } from '../connections/connection.ts';
import { callerOf } from '../operation.ts';
import type { AuthorityWatch } from '../stream/authority.ts';

/** What an answer is held by. */
export interface Holds {
  readonly permits: Permits;
  readonly authority: AuthorityWatch;
}

/**
 * Takes a permit that the answer holds to its end, unless it is given back before, and ends the connection when the
 * caller's authority ends before. Spec § Response transfer rules.
 *
 * @throws ServiceError where there is no permit.
 */
export function holdUntilAnswered(reply: FastifyReply, { permits, authority }: Holds, kind: PermitKind): Permit {
  const caller = callerOf(reply.request);
  const permit = permits.take(kind, caller.tenant);
  const unwatch = authority.watch(caller, () => resetConnection(reply.request.raw.socket));
  onAnswerEnd(reply.raw, () => {
    permit[Symbol.dispose]();
    unwatch();
  });
  return permit;
}

/**
 * Takes a permit that the answer holds to its end.
 *
 * @throws ServiceError where there is none.
 */
export function holdPermitUntilAnswered(reply: FastifyReply, permits: Permits, kind: PermitKind): void {
  const permit = permits.take(kind, callerOf(reply.request).tenant);
  onAnswerEnd(reply.raw, () => permit[Symbol.dispose]());
}

const CALLBACKS = Symbol('called at the end of this answer');

interface EndingResponse extends ServerResponse {
  [CALLBACKS]?: (() => void)[];
}

/** Calls back once, in the order in which it was asked, when the answer was sent or can no longer be. */
export function onAnswerEnd(response: EndingResponse, callback: () => void): void {
  const callbacks = response[CALLBACKS];
  if (response.destroyed || response.closed) callback();
  else if (callbacks !== undefined) callbacks.push(callback);
  else {
    // One listener for all of them: this is passed by every request.
    const all = [callback];
    response[CALLBACKS] = all;
    response.once('close', () => {
      for (const called of all) called();
    });
  }
}

/** Aborts when the answer can no longer be sent or when the service stops. Disposing lets go of both. */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

export function interruptionOf(response: ServerResponse, stopping: AbortSignal): Interruption {
  const controller = new AbortController();
  const abort = () => controller.abort();
  response.once('close', abort);
  stopping.addEventListener('abort', abort);
  if (stopping.aborted || response.destroyed) abort();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      response.off('close', abort);
      stopping.removeEventListener('abort', abort);
    },
  };
}
