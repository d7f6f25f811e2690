/** The digest that two equal gradings share. A thread of the store computes it, because a grading may have many megabytes. */
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import type { StoreDatabase } from '../schema.ts';

export async function gradingDigest(_db: StoreDatabase, grading: object): Promise<string> {
  return sha256Hex(canonicalJson(grading));
}
