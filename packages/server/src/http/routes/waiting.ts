/**
 * Answers that may wait for something of a job. A wait holds a wait permit, and a short answer keeps it to its last byte. A
 * long answer holds a response permit in its place, as one without a wait does, so that waits and long answers have a bound
 * each. Spec § GET /v1/jobs/{id}/result, § Response transfer rules.
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

/** What an answer holds that may wait, and what it does while it waits. */
export class Waiting {
  readonly waitSeconds: number;
  readonly #call: Call<WaitingOperation>;
  readonly #held: Permit;

  /** @throws ServiceError where there is no permit, and `shutting_down` where it would wait for a service that stops. */
  constructor(call: Call<WaitingOperation>, waitSeconds: number) {
    if (waitSeconds > 0) refuseWhenStopping(call);
    this.waitSeconds = waitSeconds;
    this.#call = call;
    this.#held = call.holdWatched(waitSeconds > 0 ? 'wait' : 'response');
  }

  /**
   * Asks for something that may wait until the signal aborts. An answer that is not whole, because it was interrupted, is
   * none.
   *
   * @throws ServiceError `shutting_down` where the service stopped meanwhile
   * @throws ClientGone where nobody waits any more
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
   * The wait is over, and this is what will be sent.
   *
   * @throws ServiceError where it is long and there is no permit for long answers
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
