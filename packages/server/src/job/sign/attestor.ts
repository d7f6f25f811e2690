/**
 * Signs the results of jobs after they ended. One standing loop, woken when a job ends, at the start of the service and by
 * a slow timer; it reads from the outbox what is to be done each time. Spec § States and transitions 3.
 */

import { within } from '../../ground/within.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Nudges } from '../nudges.ts';
import { pause } from '../pause.ts';
import { type DrainOptions, drainOutbox } from './drain.ts';
import { SigningKeyError } from './keys/signing-key-error.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import { retryDelay } from './retry-delay.ts';
import { Signer } from './signer.ts';

export interface AttestorOptions {
  readonly store: DrainOptions['store'] & Pick<Store, 'resumeAttestations'>;
  readonly keys: Pick<SigningKeys, 'current'>;
  readonly nudges: Nudges;
  readonly log: Log;
  readonly signer?: Pick<Signer, 'attest'>;
}

/** Why nothing is signed at the moment, for whoever may read the status: it names no path. */
export interface Trouble {
  readonly message: string;
  readonly at: string;
}

/** The loop looks at the outbox at least this often. */
const recheckMilliseconds = 5000;
/** What keeps everything from being signed is looked at again after about half a minute at most. */
const failuresCounted = 6;

/** Signs from `start` until it is disposed. */
export class Attestor implements AsyncDisposable {
  readonly #options: AttestorOptions;
  readonly #signer = new Signer();
  readonly #stopping = new AbortController();
  #loop: Promise<void> | null = null;
  #failures = 0;
  #trouble: Trouble | null = null;

  constructor(options: AttestorOptions) {
    this.#options = options;
  }

  /** Begins to sign; without effect a second time. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Null where whatever is in the outbox can be signed, or is put off by itself. */
  get trouble(): Trouble | null {
    return this.#trouble;
  }

  /** Lets what is being signed be stored, and leaves the rest to the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await this.#signer[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    const { nudges, store } = this.#options;
    const { signal } = this.#stopping;
    // What an earlier process could not sign may be mended, and what it put off has waited long enough.
    await this.#attempt(() => store.resumeAttestations(new Date().toISOString()));
    while (!signal.aborted) {
      using nudge = nudges.next('outbox', signal);
      const isDone = await this.#attempt(() => this.#drain());
      if (isDone) await within(nudge.arrived, recheckMilliseconds, undefined);
      else await pause(retryDelay(Math.min(this.#failures, failuresCounted)), signal);
    }
  }

  #drain(): Promise<void> {
    const { store, keys, log, signer = this.#signer } = this.#options;
    return drainOutbox({ store, signer, log, currentKey: () => keys.current(), signal: this.#stopping.signal });
  }

  /** Whether it succeeded. A failure is logged whole and told in the status without what is private in it. */
  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      this.#failures = 0;
      this.#trouble = null;
      return true;
    } catch (error) {
      this.#failures++;
      const message = error instanceof SigningKeyError ? error.publicReason : 'the store could not be read or written';
      this.#trouble = { message, at: new Date().toISOString() };
      this.#options.log.error({ err: error }, `nothing can be signed: ${message}`);
      return false;
    }
  }
}
