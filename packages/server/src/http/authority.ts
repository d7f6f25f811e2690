/**
 * Ends what a credential holds open once its authority has ended: expired, revoked or rotated. Requests are checked when
 * they arrive; this is for those that stay. Spec § Authentication 8.
 */
import type { Access } from '../access/authenticate.ts';
import type { Caller } from '../caller.ts';
import type { Log } from '../telemetry/log.ts';

export interface AuthorityWatchOptions {
  readonly access: Pick<Access, 'stands'>;
  readonly log: Log;
  readonly checkMilliseconds: number;
}

/** What is held open, by whose authority. Disposing stops the checks and ends nothing. */
export class AuthorityWatch implements Disposable {
  readonly #options: AuthorityWatchOptions;
  readonly #held = new Map<() => void, Caller>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: AuthorityWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.check(), options.checkMilliseconds);
    this.#timer.unref();
  }

  /** Has `end` called once the caller's authority has ended. The answer stops the watch. */
  watch(caller: Caller, end: () => void): () => void {
    this.#held.set(end, caller);
    return () => this.#held.delete(end);
  }

  /** Asks after every authority once. Runs by itself as well. */
  async check(): Promise<void> {
    const answers = new Map<string, Promise<boolean>>();
    const asked = [...this.#held].map(async ([end, caller]) => {
      const authority = `${caller.auth_method} ${caller.tenant} ${caller.credential_id} ${caller.expires_at}`;
      const stands = answers.get(authority) ?? this.#stands(caller);
      answers.set(authority, stands);
      if (!(await stands) && this.#held.delete(end)) end();
    });
    await Promise.all(asked);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** An authority that cannot be asked after is left standing until it can: the ledger's trouble is nobody's rotation. */
  async #stands(caller: Caller): Promise<boolean> {
    try {
      return await this.#options.access.stands(caller);
    } catch (error) {
      this.#options.log.error({ err: error, credential_id: caller.credential_id }, 'an authority cannot be checked');
      return true;
    }
  }
}
