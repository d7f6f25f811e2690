/**
 * What a job demanded, as one text, which a receipt's `policy_sha256` is the digest of. An auditor makes it again from
 * `requested_spec` in the job's detail, or finds it in an export. Spec § Receipt.
 */
import type { StoredSpec } from '@vouchbox/protocol';
import { canonicalJson } from './canonical-json.ts';

/** RFC 8785. `allow_network` is always false: nothing else can be requested. */
export function policyText({ requirements, limits, outputs, runtime }: StoredSpec): string {
  return canonicalJson({ requirements, limits, outputs, runtime, allow_network: false });
}
