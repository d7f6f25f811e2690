/**
 * Who is asking: the `Authorization` header of a request becomes a caller, or the refusal to answer with. The kinds of
 * credential are tried in turn; each knows its own by their form. Spec § Authentication.
 */
import type { AuthMethod } from '@svc/protocol';
import type { Caller } from '../caller.ts';
import { ServiceError } from '../service-error.ts';

/** Tokens are short; this leaves room for a JWT within the bounds of a request head. */
export const tokenBytesMax = 8192;

/** `Bearer`, as the contract spells it, one space, and a token of visible ASCII. */
const BEARER = /^Bearer ([\x21-\x7e]+)$/;

/** One kind of credential. */
export interface CredentialKind {
  /** What whoami says of callers of this kind. */
  readonly method: AuthMethod;
  /** Null where the token is not one of this kind. Rejects only where the service itself failed. */
  resolve(token: string): Promise<Caller | ServiceError | null>;
  /** Whether a caller of this kind may still act; that it has not expired was seen to. */
  stands(caller: Caller): Promise<boolean>;
}

export interface Access {
  /**
   * The caller that an `Authorization` header stands for. A refusal is `unauthorized`, and its message says nothing of
   * why a token was not believed. Rejects only where the service itself failed.
   */
  authenticate(authorization: string | undefined): Promise<Caller | ServiceError>;
  /** Whether the authority that a caller was resolved from still stands: not expired, revoked or rotated since. */
  stands(caller: Caller): Promise<boolean>;
}

/** Asks each kind in turn; the first that knows the token decides. `now` is the time of day in milliseconds. */
export function createAccess(kinds: readonly CredentialKind[], now: () => number = Date.now): Access {
  return {
    async authenticate(authorization) {
      if (authorization === undefined) {
        return new ServiceError(
          'unauthorized',
          'The request carries no credential: send "Authorization: Bearer <API_KEY>".',
        );
      }
      const token = BEARER.exec(authorization)?.[1];
      if (token === undefined || token.length > tokenBytesMax) return unknownCredential();
      for (const kind of kinds) {
        const resolved = await kind.resolve(token);
        if (resolved !== null) return resolved;
      }
      return unknownCredential();
    },
    async stands(caller) {
      if (hasExpired(caller.expires_at, now())) return false;
      const kind = kinds.find(({ method }) => method === caller.auth_method);
      return kind !== undefined && (await kind.stands(caller));
    },
  };
}

/** Whether a time, RFC 3339 or null for never, has come. */
export function hasExpired(expires_at: string | null, now: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now;
}

/** The one refusal of every token that is not believed. */
export function unknownCredential(): ServiceError {
  return new ServiceError('unauthorized', 'The credential is malformed, unknown, expired or revoked.');
}
