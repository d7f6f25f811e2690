/**
 * The policy that a job asked to be held to, as one text: what a receipt's `policy_sha256` is the digest of. An auditor
 * makes it again from `requested_spec` in the job's detail, or finds it in an export. Spec § Receipt.
 */
import type { StoredSpec } from '@svc/protocol';
import { canonicalJson } from './canonical-json.ts';

/** RFC 8785, with the network refusal spelled out: nobody could ask for anything else. */
export function policyText({ requirements, limits, outputs, runtime }: StoredSpec): string {
  return canonicalJson({ requirements, limits, outputs, runtime, allow_network: false });
}
