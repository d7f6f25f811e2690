/**
 * Answers that may wait for a change of a job. A wait holds a wait permit, and a short answer keeps it to its last
 * byte. A long answer exchanges it for a response permit, so that waits and long answers each have their own bound.
 * Spec § GET /v1/jobs/{id}/result, § Response transfer rules.
 */
import { responsePumpBytes } from '@vouchbox/protocol';
import type { Permit } from '../../capacity/permits.ts';
import { ServiceError } from '../../ground/service-error.ts';
import type { Body } from '../../job/body.ts';
import { shuttingDown } from '../../job/refusals.ts';
import { interruptionOf } from '../answer/answer-end.ts';
import { type Call, refuseWhenStopping } from '../call.ts';
import { ClientGone } from '../request/body.ts';

type WaitingOperation = 'submitJob' | 'getResult' | 'replayEvents';

/** One answer that may wait: the permit it holds, and the wait itself. */
export class Waiting {
  readonly waitSeconds: number;
  readonly #call: Call<WaitingOperation>;
  readonly #held: Permit;

  /** @throws ServiceError if no permit is free, and `shutting_down` if it would wait while the service stops */
  constructor(call: Call<WaitingOperation>, waitSeconds: number) {
    if (waitSeconds > 0) refuseWhenStopping(call);
    this.waitSeconds = waitSeconds;
    this.#call = call;
    this.#held = call.holdWatched(waitSeconds > 0 ? 'wait' : 'response');
  }

  /**
   * Calls `work`, which may wait until the signal aborts. An interrupted answer is not returned.
   *
   * @throws ServiceError `shutting_down` if the service stopped meanwhile
   * @throws ClientGone if the client has left
   */
  async ask<T>(work: (signal: AbortSignal) => Promise<T>, isWhole: (answer: T) => boolean): Promise<T> {
    const { stopping } = this.#call.context;
    using interruption = interruptionOf(this.#call.reply.raw, stopping);
    const { signal } = interruption;
    try {
      const answer = await work(signal);
      if (this.waitSeconds > 0 && signal.aborted && !isWhole(answer)) throw interrupted(stopping);
      return answer;
    } catch (error) {
      if (this.waitSeconds === 0 || !signal.aborted || error instanceof ServiceError) throw error;
      throw interrupted(stopping);
    }
  }

  /**
   * Ends the wait with the body that will be sent.
   *
   * @throws ServiceError if it is long and no permit for long answers is free
   */
  over(body: Body<unknown>): void {
    if (this.waitSeconds === 0 || body.bytes <= responsePumpBytes) return;
    this.#call.hold('response');
    this.#held[Symbol.dispose]();
  }
}

function interrupted(stopping: AbortSignal): Error {
  return stopping.aborted ? shuttingDown() : new ClientGone();
}
