/**
 * Access tokens from an issuer that the operator trusts. They follow RFC 9068 and RFC 8725, and name the tenant in a claim. If a
 * token does not state a fact plainly, it is refused; nothing is guessed.
 */
import { hash } from 'node:crypto';
import { SCOPES } from '@vouchbox/protocol';
import { errors, type JWTVerifyResult, jwtVerify } from 'jose';
import type { Caller } from '../ground/caller.ts';
import { ServiceError } from '../ground/service-error.ts';
import { parseStrictJson } from '../ground/strict-json.ts';
import { type CredentialKind, hasExpired, unknownCredential } from './authenticate.ts';
import type { KeySet } from './key-set.ts';
import { isTenantName } from './tenant.ts';

export interface JwtOptions {
  /** The required value of `iss`. */
  readonly issuer: string;
  /** The value that `aud` must contain. */
  readonly audience: string;
  /** The claim that names the tenant. */
  readonly tenantClaim: string;
  readonly keys: KeySet;
  /** The time of day in milliseconds. */
  readonly now?: () => number;
}

const ALGORITHMS = ['EdDSA', 'ES256', 'RS256'];
const REQUIRED_CLAIMS = ['iss', 'aud', 'exp', 'iat', 'sub', 'client_id', 'jti'];
/** How far ahead the issuer's clock may be: a token is accepted this long early, but never after its `exp`. */
const skewSeconds = 30;
/** No token is valid for longer than this after its issue. */
const lifetimeSecondsMax = 24 * 3600;
const claimCharsMax = 256;

/** The longest time that a checked token is remembered. A key that the issuer withdraws is trusted no longer than this. */
const rememberedMilliseconds = 5 * 60_000;
const rememberedMax = 1000;

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Access tokens. The issuer's keys can be read again without a restart. */
export interface JwtAccess extends CredentialKind {
  /** Forgets every checked token, and reads the issuer's keys again. Rejects if they cannot be read. */
  reload(): Promise<void>;
}

/** Recognises tokens by their three parts. */
export function createJwtAccess(options: JwtOptions): JwtAccess {
  const now = options.now ?? Date.now;
  const remembered = new Map<string, { readonly caller: Caller; readonly until: number }>();
  return {
    method: 'jwt',
    async resolve(token) {
      if (token.split('.').length !== 3) return null;
      const digest = hash('sha256', token, 'base64');
      const known = remembered.get(digest);
      if (known !== undefined && now() < known.until) return known.caller;
      remembered.delete(digest);
      const caller = await verified(token, { ...options, now });
      if (caller === null) return unknownCredential();
      const until = Math.min(now() + rememberedMilliseconds, Date.parse(caller.expires_at ?? '') || 0);
      remembered.set(digest, { caller, until });
      const [oldest] = remembered.keys();
      if (remembered.size > rememberedMax && oldest !== undefined) remembered.delete(oldest);
      return caller;
    },
    // A token cannot be revoked before it expires, so it must be short-lived.
    stands: async ({ expires_at }) => !hasExpired(expires_at, now()),
    async reload() {
      await options.keys.reload();
      remembered.clear();
    },
  };
}

/** Null if the token is invalid. Rejects if the issuer's keys cannot be read. */
async function verified(token: string, options: JwtOptions & { now: () => number }): Promise<Caller | null> {
  try {
    await checkHeader(token);
    const { payload } = await verifySignature(token, options);
    const claims = (await parseStrictJson(partOf(token, 1))) as Record<string, unknown>;
    checkLifetime(payload as { exp: number; iat: number }, options.now() / 1000);
    return callerOf(claims, options.tenantClaim);
  } catch (error) {
    if (error instanceof Disbelieved || error instanceof errors.JOSEError) return null;
    if (error instanceof ServiceError && error.code === 'invalid_json') return null;
    throw error;
  }
}

/** An error that says why a token is invalid. Callers never see the reason. */
class Disbelieved extends Error {
  override readonly name = 'Disbelieved';
}

/** Makes the checks that jose leaves to its caller: one spelling for each part, no member twice, no extension. */
async function checkHeader(token: string): Promise<void> {
  if (!COMPACT.test(token)) throw new Disbelieved('it is not compact');
  for (const part of token.split('.')) {
    if (Buffer.from(part, 'base64url').toString('base64url') !== part) throw new Disbelieved('a part is not canonical');
  }
  const header = (await parseStrictJson(partOf(token, 0))) as Record<string, unknown> | null;
  if (typeof header?.['alg'] !== 'string') throw new Disbelieved('it names no algorithm');
  if (header['kid'] !== undefined && typeof header['kid'] !== 'string')
    throw new Disbelieved('its key id is not a text');
  for (const extension of ['crit', 'zip', 'b64']) {
    if (header[extension] !== undefined) throw new Disbelieved(`it has the extension ${extension}`);
  }
}

function partOf(token: string, index: number): Buffer {
  return Buffer.from(token.split('.')[index] ?? '', 'base64url');
}

/** Verifies the signature. An unknown key may be new, so the key set is then read again, at most every 30 seconds. */
async function verifySignature(
  token: string,
  { keys, issuer, audience, now }: JwtOptions & { now: () => number },
): Promise<JWTVerifyResult> {
  const rules = {
    algorithms: ALGORITHMS,
    typ: 'at+jwt',
    issuer,
    audience,
    requiredClaims: REQUIRED_CLAIMS,
    clockTolerance: skewSeconds,
    currentDate: new Date(now()),
  };
  try {
    return await jwtVerify(token, keys.keyFor, rules);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey) || !(await keys.refresh())) throw error;
    return await jwtVerify(token, keys.keyFor, rules);
  }
}

function checkLifetime({ exp, iat }: { exp: number; iat: number }, nowSeconds: number): void {
  if (!Number.isFinite(exp) || !Number.isFinite(iat)) throw new Disbelieved('a time is not finite');
  if (exp <= nowSeconds) throw new Disbelieved('it has expired');
  if (iat > nowSeconds + skewSeconds) throw new Disbelieved('it was issued in the future');
  if (exp - iat > lifetimeSecondsMax) throw new Disbelieved('it would live too long');
}

function callerOf(claims: Record<string, unknown>, tenantClaim: string): Caller {
  const tenant = Object.hasOwn(claims, tenantClaim) ? claims[tenantClaim] : undefined;
  if (!isTenantName(tenant)) throw new Disbelieved('its tenant is not one');
  textClaim(claims, 'client_id');
  return {
    tenant,
    principal: textClaim(claims, 'sub'),
    auth_method: 'jwt',
    credential_id: textClaim(claims, 'jti'),
    scopes: scopesOf(claims['scope']),
    expires_at: new Date(Number(claims['exp']) * 1000).toISOString(),
  };
}

function textClaim(claims: Record<string, unknown>, name: string): string {
  const value = claims[name];
  if (typeof value === 'string' && value !== '' && value.length <= claimCharsMax) return value;
  throw new Disbelieved(`its claim ${name} is not a text of 1 to ${claimCharsMax} characters`);
}

/** The scopes in a claim: words separated by single spaces. Unknown words are scopes of other services. RFC 8693 § 4.2. */
function scopesOf(claim: unknown): Caller['scopes'] {
  if (claim !== undefined && typeof claim !== 'string') throw new Disbelieved('its scope is not a text');
  const words = new Set((claim ?? '').split(' '));
  return SCOPES.filter((scope) => words.has(scope));
}
