/**
 * Answers that may wait for a job to change. A wait holds a wait permit. A short answer keeps this permit to its last
 * byte. A long answer exchanges it for a response permit, so that waits and long answers each have their own bound.
 * Spec § GET /v1/jobs/{id}/result, § Response transfer rules.
 */
import { responsePumpBytes } from '@vouchbox/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import type { Reservation } from '../../capacity/permits.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { shuttingDown } from '../../job/refusals.ts';
import { interruptionOf } from '../answer/answer-end.ts';
import { ClientGone } from '../call/body.ts';
import { type Call, refuseWhenStopping } from '../call/call.ts';
import { resetConnection } from '../connections/connection.ts';

type WaitingOperation =
  | 'submitJob'
  | 'getResult'
  | 'replayEvents'
  | 'listToolCalls'
  | 'getPromise'
  | 'getGrading'
  | 'gradingEvents';

/** The time after which a wait claims its place. By then, refusals and answers about ended jobs are sent, even on busy hosts. */
const lastingMilliseconds = 500;

/** An answer that may wait, with the permit that it holds. */
export class Waiting {
  readonly waitSeconds: number;
  readonly #call: Call<WaitingOperation>;
  readonly #held: Reservation;
  /** Aborts with a refusal if no place is left, another tenant needs the place, or (with `outlives`) the credential ends. */
  readonly #gaveWay = new AbortController();
  #isOver = false;
  #isLong = false;

  /**
   * When the credential ends, the connection ends, too. But if a wait `outlives` the credential, only the wait ends: the caller
   * still gets an answer, without the part that was waited for.
   *
   * @throws ServiceError if no permit is free, or `shutting_down` if the answer would have to wait while the service stops
   */
  constructor(call: Call<WaitingOperation>, waitSeconds: number, { outlives = false } = {}) {
    if (waitSeconds > 0) refuseWhenStopping(call);
    this.waitSeconds = waitSeconds;
    this.#call = call;
    const onEnded = outlives ? () => this.#giveWay(unknownCredential()) : undefined;
    this.#held = waitSeconds > 0 ? call.holdWatched('wait', this.#giveWay, onEnded) : call.holdWatched('response');
  }

  /** Whether the wait outlived its credential. */
  get isOrphan(): boolean {
    const { signal } = this.#gaveWay;
    return signal.aborted && (signal.reason as ServiceError).code === 'unauthorized';
  }

  /**
   * Calls `work`, which may wait until the signal aborts. An interrupted answer is not returned.
   *
   * @throws ServiceError `shutting_down` if the service stopped meanwhile, `tenant_capacity_exhausted` if the wait had to
   * give way, `capacity_exhausted` if no place was left for a longer wait, `unauthorized` if its credential ended
   * @throws ClientGone if the client has left
   */
  async ask<T>(work: (signal: AbortSignal) => Promise<T>, isWhole: (answer: T) => boolean): Promise<T> {
    const { stopping } = this.#call.context;
    using interruption = interruptionOf(this.#call.reply.raw, stopping, this.#gaveWay.signal);
    const { signal } = interruption;
    const lasting = setTimeout(this.#claim, lastingMilliseconds);
    try {
      const answer = await work(signal);
      if (this.waitSeconds > 0 && signal.aborted && !isWhole(answer)) throw this.#interrupted();
      if (this.isOrphan) throw unknownCredential();
      return answer;
    } catch (error) {
      if (this.waitSeconds === 0 || !signal.aborted || error instanceof ServiceError) throw error;
      throw this.#interrupted();
    } finally {
      clearTimeout(lasting);
      this.#isOver = true;
    }
  }

  /** Claims a place for a wait that has lasted for `lastingMilliseconds`. A long answer claims a place of its own. */
  readonly #claim = (): void => {
    if (this.waitSeconds === 0) return;
    try {
      this.#held.claim();
    } catch (refusal) {
      this.#gaveWay.abort(refusal);
    }
  };

  /**
   * Ends the wait. `bytes` is the length of the answer.
   *
   * @throws ServiceError if the answer is long and no permit for long answers is free
   */
  over({ bytes }: { readonly bytes: number }): void {
    if (this.waitSeconds === 0 || this.#isLong || bytes <= responsePumpBytes) return;
    this.#call.hold('response');
    this.#call.claimFor({ bytes });
    this.#isLong = true;
    this.#held[Symbol.dispose]();
  }

  #interrupted(): Error {
    const { stopping } = this.#call.context;
    if (stopping.aborted) return shuttingDown();
    const { signal } = this.#gaveWay;
    return signal.aborted ? (signal.reason as ServiceError) : new ClientGone();
  }

  /** Ends the wait because another tenant needs the place. If the answer is already being sent, it is cut off. */
  readonly #giveWay = (refusal: ServiceError): void => {
    if (this.#isOver) resetConnection(this.#call.request.raw.socket);
    else this.#gaveWay.abort(refusal);
  };
}
