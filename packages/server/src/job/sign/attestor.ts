/**
 * Signs the results of ended jobs in one standing loop. The end of a job, the start of the service or a slow timer wakes
 * the loop, and it reads the outbox each time. Spec § States and transitions 3.
 */

import { pause } from '../../ground/waiting/pause.ts';
import { retryDelay } from '../../ground/waiting/retry-delay.ts';
import { StandingLoop } from '../../ground/waiting/standing-loop.ts';
import { within } from '../../ground/waiting/within.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { Nudges } from '../nudges.ts';
import { type DrainOptions, drainOutbox } from './drain.ts';
import { SigningKeyError } from './keys/signing-key-error.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import { Signer, SignerError } from './signer.ts';

export interface AttestorOptions {
  readonly store: DrainOptions['store'] & Pick<Store, 'probe' | 'resumeAttestations'>;
  readonly keys: Pick<SigningKeys, 'current'>;
  readonly nudges: Nudges;
  readonly log: Log;
  readonly signer?: Pick<Signer, 'attest'>;
  /** Whether it is this node that signs. Absent if there are no other nodes. */
  readonly isOurTurn?: () => boolean;
  /** Whether the signed statements go into the log. */
  readonly isLogged?: boolean;
  /** Called when signing begins to fail, and when it works again. */
  readonly onProblemChange?: () => void;
}

/** Why nothing can be signed at present. Any caller may read this in the status, so it names no path. */
export interface SigningProblem {
  readonly message: string;
  readonly at: string;
}

/** How long ended jobs wait to be signed together with others. A crash loses nothing, because they are in the outbox. */
const gatherMilliseconds = 50;
/** The loop looks at the outbox at least this often. */
const recheckMilliseconds = 5000;
/** How many failures in a row lengthen the pause. If all signing fails, the pause is at most about half a minute. */
const failuresCounted = 6;

/** Signs from `start` until it is disposed. */
export class Attestor implements AsyncDisposable {
  readonly #options: AttestorOptions;
  readonly #signer = new Signer();
  readonly #loop = new StandingLoop((signal) => this.#signWhatIsDue(signal));
  #failures = 0;
  #problem: SigningProblem | null = null;

  constructor(options: AttestorOptions) {
    this.#options = options;
  }

  /** Begins to sign; a second call has no effect. */
  start(): void {
    // Jobs that an earlier process postponed are due again, because the cause may be gone.
    this.#loop.start(() => this.#attempt(() => this.#options.store.resumeAttestations(new Date().toISOString())));
  }

  /** The signing thread, for other statements to be signed with the same key. It ends with the attestor. */
  get signer(): Pick<Signer, 'sign'> {
    return this.#signer;
  }

  /** Null if signing works. Single jobs may still be postponed. */
  get problem(): SigningProblem | null {
    return this.#problem;
  }

  /** Waits until attestations in progress are stored, and leaves all others to the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
    await this.#signer[Symbol.asyncDispose]();
  }

  async #signWhatIsDue(signal: AbortSignal): Promise<void> {
    using nudge = this.#options.nudges.next('outbox', signal);
    const isDone = await this.#attempt(() => this.#work(signal));
    if (isDone) await within(nudge.arrived, recheckMilliseconds, undefined);
    await pause(isDone ? gatherMilliseconds : retryDelay(Math.min(this.#failures, failuresCounted)), signal);
  }

  /** Signs if it is this node's turn. After a failure, other nodes sign until this node has shown that it can sign again. */
  async #work(signal: AbortSignal): Promise<void> {
    const { isOurTurn = () => true } = this.#options;
    if (isOurTurn()) await this.#drain(signal);
    else if (this.#problem !== null) await this.#tryOut();
  }

  #drain(signal: AbortSignal): Promise<void> {
    const { store, keys, nudges, log, signer = this.#signer, isLogged = false } = this.#options;
    return drainOutbox({ store, signer, nudges, log, isLogged, currentKey: () => keys.current(), signal });
  }

  /** Tries everything that a signature needs, without signing anything. */
  async #tryOut(): Promise<void> {
    const { store, keys, signer = this.#signer } = this.#options;
    await signer.attest([], keys.current());
    await store.probe();
  }

  /** Does work and returns whether it succeeded. The log gets a failure in full, and the status without its private parts. */
  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      this.#failures = 0;
      this.#note(null);
      return true;
    } catch (error) {
      this.#failures++;
      const message = publicReasonOf(error);
      this.#note({ message, at: new Date().toISOString() });
      this.#options.log.error({ err: error }, `nothing can be signed: ${message}`);
      return false;
    }
  }

  #note(problem: SigningProblem | null): void {
    const isChange = (problem === null) !== (this.#problem === null);
    this.#problem = problem;
    if (isChange) this.#options.onProblemChange?.();
  }
}

function publicReasonOf(error: unknown): string {
  if (error instanceof SigningKeyError) return error.publicReason;
  return error instanceof SignerError ? 'the thread that signs ended' : 'the store could not be read or written';
}
