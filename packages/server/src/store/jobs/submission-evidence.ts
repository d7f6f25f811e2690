/**
 * What a receipt says about a submission. The digests are computed in the transaction that accepts the submission, so the
 * terminal transaction need not read the submission again.
 */
import { argumentsText, policyText, sha256Hex, variablesText } from '@vouchbox/evidence';
import type { Receipt, RequestedSpec } from '@vouchbox/protocol';
import { digestOf } from '../blobs/blobs-named.ts';
import { inputArtifact, type NamedBlobs } from '../blobs/named-files.ts';

/** The members of a receipt that follow only from the submission. Spec § Receipt. */
export type SubmissionEvidence = Pick<
  Required<Receipt>,
  | 'language'
  | 'runtime'
  | 'code_sha256'
  | 'stdin_sha256'
  | 'args_sha256'
  | 'env_sha256'
  | 'policy_sha256'
  | 'requested_limits'
  | 'input_artifacts'
> &
  Pick<Receipt, 'interaction' | 'large_outputs' | 'build' | 'product' | 'reproducible' | 'tool_limits' | 'labels'>;

/** Computes these members. `blobs` has every blob that the submission names. */
export function submissionEvidence(spec: RequestedSpec, blobs: NamedBlobs): SubmissionEvidence {
  return {
    language: spec.language,
    runtime: spec.runtime,
    code_sha256: sha256Hex(spec.code),
    stdin_sha256: spec.named_stdin === undefined ? digestOfText(spec.stdin) : digestOf(spec.named_stdin),
    args_sha256: digestOfText(argumentsText(spec)),
    env_sha256: digestOfText(variablesText(spec)),
    policy_sha256: sha256Hex(policyText(spec)),
    requested_limits: spec.limits,
    ...(spec.interaction !== undefined && { interaction: spec.interaction }),
    ...(spec.build !== undefined && { build: spec.build }),
    ...(spec.product !== undefined && { product: spec.product }),
    ...(spec.reproducible !== undefined && { reproducible: spec.reproducible }),
    ...(spec.tools !== undefined && { tool_limits: spec.tools.limits }),
    ...(spec.sign_labels && spec.labels !== undefined && { labels: spec.labels }),
    input_artifacts: spec.files.map((file) => inputArtifact(file, blobs)),
    // A job has no large outputs until it ends.
    ...(spec.large_outputs !== undefined && { large_outputs: [] }),
  };
}

function digestOfText(text: string | null): string | null {
  return text === null ? null : sha256Hex(text);
}
