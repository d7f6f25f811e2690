/**
 * Resolves the `Authorization` header of a request to a caller, or to a refusal. The kinds of credentials are tried in turn. Each
 * kind recognises its own tokens by their form. Spec § Authentication.
 */
import type { AuthMethod } from '@vouchbox/protocol';
import type { Caller } from '../ground/caller.ts';
import { ServiceError } from '../ground/service-error.ts';

/** The most bytes of a token. Tokens are short; this leaves room for a JWT within the limits of a request head. */
export const tokenBytesMax = 8192;

/** The scheme in any case, one space or more, and a token of visible ASCII. RFC 9110 § 11.1, RFC 6750 § 2.1. */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** The token in an `Authorization` header; null if the header does not use the Bearer scheme. */
export function bearerToken(authorization: string): string | null {
  return BEARER.exec(authorization)?.[1] ?? null;
}

/** One kind of credential. */
export interface CredentialKind {
  /** The kind, as whoami names it. */
  readonly method: AuthMethod;
  /** Null if the token is not of this kind. Rejects only if the service itself failed. */
  resolve(token: string): Promise<Caller | ServiceError | null>;
  /** Whether a caller of this kind may still act. The caller's expiry has already been checked. */
  stands(caller: Caller): Promise<boolean>;
  /** See `Access`. A kind needs `pledge` and `redeem` only if its identifiers may later name other credentials. */
  pledge?(caller: Caller, ticket: string): Caller;
  redeem?(pledge: Caller, ticket: string): Caller | null;
  /** See `Access`. Absent if credentials of this kind never end before their expiry. */
  whenEnded?(listener: () => void): void;
}

export interface Access {
  /**
   * The caller that an `Authorization` header names. A refusal is `unauthorized`, and its message does not say why the token is
   * invalid. Rejects only if the service itself failed.
   */
  authenticate(authorization: string | undefined): Promise<Caller | ServiceError>;
  /** Whether a caller's authority is still valid: it has not expired, and was not revoked or rotated. */
  stands(caller: Caller): Promise<boolean>;
  /** The facts about a caller that the store keeps beside a ticket's digest. They reveal no more than that caller's whoami. */
  pledge(caller: Caller, ticket: string): Caller;
  /** The caller for whom a pledge was made. Null if another ticket is given, or if the caller's authority has ended since. */
  redeem(pledge: Caller, ticket: string): Promise<Caller | null>;
  /** Calls `listener` whenever a credential may have ended early: it was revoked or rotated. */
  whenEnded(listener: () => void): void;
}

/** Tries the kinds in turn: the first that recognises the token decides. `now` is the time of day in milliseconds. */
export function createAccess(kinds: readonly CredentialKind[], now: () => number = Date.now): Access {
  const kindOf = ({ auth_method }: Caller) => kinds.find(({ method }) => method === auth_method);
  const stands = async (caller: Caller) =>
    !hasExpired(caller.expires_at, now()) && ((await kindOf(caller)?.stands(caller)) ?? false);
  return {
    stands,
    whenEnded(listener) {
      for (const kind of kinds) kind.whenEnded?.(listener);
    },
    pledge: (caller, ticket) => kindOf(caller)?.pledge?.(caller, ticket) ?? caller,
    async redeem(pledge, ticket) {
      const kind = kindOf(pledge);
      const caller = kind?.redeem === undefined ? pledge : kind.redeem(pledge, ticket);
      return caller !== null && (await stands(caller)) ? caller : null;
    },
    async authenticate(authorization) {
      if (authorization === undefined) {
        return new ServiceError(
          'unauthorized',
          'The request carries no credential: send "Authorization: Bearer <API_KEY>".',
        );
      }
      const token = bearerToken(authorization);
      if (token === null || token.length > tokenBytesMax) return unknownCredential();
      for (const kind of kinds) {
        const resolved = await kind.resolve(token);
        if (resolved !== null) return resolved;
      }
      return unknownCredential();
    },
  };
}

/** Whether a time has come. The time is RFC 3339 text; null means never. */
export function hasExpired(expires_at: string | null, now: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now;
}

/** The refusal that every invalid token gets. */
export function unknownCredential(): ServiceError {
  return new ServiceError('unauthorized', 'The credential is malformed, unknown, expired or revoked.');
}
