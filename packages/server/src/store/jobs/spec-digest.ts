/**
 * The digest that two equal submissions share. It is computed on a thread of the store, because a submission may have
 * many megabytes.
 */
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import type { RequestedSpec } from '@vouchbox/protocol';
import { filesByContent } from '../blobs/named-files.ts';
import type { StoreDatabase } from '../schema.ts';

/**
 * SHA-256 over the canonical form of a specification with its defaults filled in and its limits as asked for: another
 * JSON form of the submission or another ceiling does not change it. Members that were added to the contract later are
 * left out if they are empty, so that keys from an older version still match. A file counts by its content, whether it was
 * sent inline or uploaded before. Null if the tenant lacks a blob that the specification names.
 */
export async function specDigest(
  db: StoreDatabase,
  { tenant, spec }: { readonly tenant: string; readonly spec: RequestedSpec },
): Promise<string | null> {
  const { args, env, ...rest } = spec;
  const files = await filesByContent(db, { tenant, files: spec.files });
  if (files === null) return null;
  return sha256Hex(
    canonicalJson({ ...rest, files, ...(args.length > 0 && { args }), ...(Object.keys(env).length > 0 && { env }) }),
  );
}
