/**
 * What two submissions must share to be the same one. It is digested where nothing else waits: a submission may have
 * many megabytes.
 */
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import type { RequestedSpec } from '@vouchbox/protocol';
import type { StoreDatabase } from '../schema.ts';

/**
 * SHA-256 over the canonical form of a specification with its defaults filled in and its limits as asked for: neither
 * another spelling nor another ceiling makes a replay into a reuse of its key. What was added to the contract later
 * is left out where nothing was given: a key that an older version took stays good.
 */
export async function specDigest(_db: StoreDatabase, { args, env, ...rest }: RequestedSpec): Promise<string> {
  return sha256Hex(
    canonicalJson({ ...rest, ...(args.length > 0 && { args }), ...(Object.keys(env).length > 0 && { env }) }),
  );
}
