/**
 * Ends what a credential holds open once the credential has expired or was revoked or rotated. Requests are checked when they
 * arrive; this module checks streams, waits, and connections that are idle between two requests. Spec § Authentication 8.
 */
import type { Socket } from 'node:net';
import type { Access } from '../../access/authenticate.ts';
import type { Caller } from '../../ground/caller.ts';
import type { Log } from '../../telemetry/log/log.ts';

export interface AuthorityWatchOptions {
  readonly access: Pick<Access, 'stands' | 'whenEnded'>;
  readonly log: Log;
  readonly checkMilliseconds: number;
  /** Whether a connection is idle, with no answer under way. */
  readonly isIdle: (connection: Socket) => boolean;
}

/** The open requests and connections with their callers. Disposing it stops the checks, and ends no request or connection. */
export class AuthorityWatch implements Disposable {
  readonly #options: AuthorityWatchOptions;
  readonly #held = new Map<() => void, Caller>();
  /** The caller of the latest request on a connection. */
  readonly #connections = new Map<Socket, Caller>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: AuthorityWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.check(), options.checkMilliseconds);
    this.#timer.unref();
    options.access.whenEnded(() => void this.check());
  }

  /** Calls `end` once the caller's authority has ended. The returned function stops the watch. */
  watch(caller: Caller, end: () => void): () => void {
    this.#held.set(end, caller);
    return () => this.#held.delete(end);
  }

  /** Closes a connection as soon as it is idle and the authority of its latest request has ended. */
  hold(connection: Socket, caller: Caller): void {
    if (!this.#connections.has(connection)) connection.once('close', () => this.#connections.delete(connection));
    this.#connections.set(connection, caller);
  }

  /** Stops watching a connection that became a stream, because a stream has its own watch. */
  release(connection: Socket): void {
    this.#connections.delete(connection);
  }

  /** Checks every authority once. This check also runs by itself, and at once after a credential was revoked or rotated. */
  async check(): Promise<void> {
    const answers = new Map<string, Promise<boolean>>();
    const stands = (caller: Caller): Promise<boolean> => {
      const authority = `${caller.auth_method} ${caller.tenant} ${caller.credential_id} ${caller.expires_at}`;
      const answer = answers.get(authority) ?? this.#stands(caller);
      answers.set(authority, answer);
      return answer;
    };
    const held = [...this.#held].map(async ([end, caller]) => {
      if (!(await stands(caller)) && this.#held.delete(end)) end();
    });
    const connections = [...this.#connections].map(async ([connection, caller]) => {
      if (await stands(caller)) return;
      const isItsOwn = this.#connections.get(connection) === caller;
      if (isItsOwn && this.#options.isIdle(connection)) connection.destroy();
    });
    await Promise.all([...held, ...connections]);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Whether the caller's authority is still valid. If the store is down, nothing is ended, and the next check decides. */
  async #stands(caller: Caller): Promise<boolean> {
    try {
      return await this.#options.access.stands(caller);
    } catch (error) {
      this.#options.log.error(
        { err: error, credential_id: caller.credential_id },
        'the authority of a credential cannot be checked',
      );
      return true;
    }
  }
}
