/**
 * The public keys of the issuer of access tokens, read from a file or an https address that the operator configured. Where keys
 * come from never depends on a token. RFC 7517; RFC 8725 § 3.10.
 */
import { readFile } from 'node:fs/promises';
import { readUpTo } from '@vouchbox/evidence';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import { ServiceError } from '../ground/service-error.ts';
import { parseStrictJson } from '../ground/strict-json.ts';

/** How long a set of keys is used before it is read again. */
const freshMilliseconds = 5 * 60_000;
/** The least time between two reads that are due to an unknown key id or a failed read. */
const forcedMilliseconds = 30_000;
const readMillisecondsMax = 5000;
const setBytesMax = 256 * 1024;

export interface KeySet {
  /** The key for the header of a token, as jose asks for it. Rejects with jose's errors if no key fits. */
  readonly keyFor: JWTVerifyGetKey;
  /** Reads the set again, unless that was just done. Returns whether the set was read again. */
  refresh(): Promise<boolean>;
  /** Reads the set again now. If it cannot be read, rejects and keeps the old keys. */
  reload(): Promise<void>;
}

export interface KeySetOptions {
  /** A path, or an https address. */
  readonly source: string;
  /** Called after each read that failed, with the reason. */
  readonly onProblem?: (cause: unknown) => void;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/**
 * A set that is read when it is first needed. While it cannot be read again, the old keys are used.
 *
 * @throws ServiceError `issuer_unavailable` from `keyFor` if there is no set at all
 */
export function createKeySet({
  source,
  onProblem = () => undefined,
  now = () => performance.now(),
}: KeySetOptions): KeySet {
  let keys: JWTVerifyGetKey | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  const read = (): Promise<void> => {
    if (reading === null) {
      readAt = now();
      reading = readSet(source)
        .then(
          (set) => {
            keys = set;
          },
          (cause: unknown) => {
            onProblem(cause);
            throw unavailable(forcedMilliseconds, cause);
          },
        )
        .finally(() => {
          reading = null;
        });
    }
    return reading;
  };
  return {
    async keyFor(header, token) {
      const age = now() - readAt;
      if (keys === null && (reading !== null || age >= forcedMilliseconds)) await read();
      else if (age >= freshMilliseconds) await read().catch(() => undefined);
      if (keys === null) throw unavailable(forcedMilliseconds - age);
      return await keys(header, token);
    },
    async refresh() {
      if (now() - readAt < forcedMilliseconds) return false;
      await read().catch(() => undefined);
      return true;
    },
    async reload() {
      // A read that is under way may have begun before the keys changed, so another read follows it.
      await reading?.catch(() => undefined);
      await read();
    },
  };
}

/** The refusal of a token while the key set cannot be read. The token may be valid, so it is not refused as invalid. */
function unavailable(milliseconds: number, cause?: unknown): ServiceError {
  const retryAfterSeconds = Math.ceil(milliseconds / 1000);
  const message = 'The keys of the token issuer cannot be read.';
  return new ServiceError('issuer_unavailable', message, { retryAfterSeconds, cause });
}

async function readSet(source: string): Promise<JWTVerifyGetKey> {
  const bytes = source.startsWith('https://') ? await fetchSet(source) : await readFile(source);
  if (bytes === null || bytes.length > setBytesMax) throw new Error(`the key set is larger than ${setBytesMax} bytes`);
  const { keys } = (await parseStrictJson(bytes)) as { keys: JWK[] };
  return createLocalJWKSet({ keys: keys.filter(isPublicSigningKey) });
}

async function fetchSet(address: string): Promise<Buffer | null> {
  const response = await fetch(address, { redirect: 'error', signal: AbortSignal.timeout(readMillisecondsMax) });
  if (!response.ok) throw new Error(`the key set was answered ${response.status}`);
  const bytes = await readUpTo(response.body, setBytesMax);
  return bytes && Buffer.from(bytes.buffer);
}

/** Whether a key may verify signatures. A secret key or a key for another use may not, even if the issuer published it. */
function isPublicSigningKey(key: JWK): boolean {
  const isPublic = (key.kty === 'OKP' || key.kty === 'EC' || key.kty === 'RSA') && key.d === undefined;
  return isPublic && (key.use === undefined || key.use === 'sig');
}
