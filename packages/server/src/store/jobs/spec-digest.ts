/**
 * The digest that two equal submissions share. It is computed on a thread of the store, because a submission may have
 * many megabytes.
 */
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import type { RequestedSpec } from '@vouchbox/protocol';
import type { StoreDatabase } from '../schema.ts';

/**
 * SHA-256 over the canonical form of a specification with its defaults filled in and its limits as asked for: another
 * JSON form of the submission or another ceiling does not change it. Members that were added to the contract later are
 * left out if they are empty, so that keys from an older version still match.
 */
export async function specDigest(_db: StoreDatabase, { args, env, ...rest }: RequestedSpec): Promise<string> {
  return sha256Hex(
    canonicalJson({ ...rest, ...(args.length > 0 && { args }), ...(Object.keys(env).length > 0 && { env }) }),
  );
}
