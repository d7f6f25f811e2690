/**
 * What a receipt says about a submission. The digests are computed in the transaction that accepts it, so that the
 * terminal transaction need not read the submission again.
 */
import { Buffer } from 'node:buffer';
import { argumentsText, policyText, sha256Hex, variablesText } from '@vouchbox/evidence';
import type { ArtifactRecord, InputFile, Receipt, RequestedSpec } from '@vouchbox/protocol';

/** The members of a receipt that follow from the submission alone. Spec § Receipt. */
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
>;

export function submissionEvidence(spec: RequestedSpec): SubmissionEvidence {
  return {
    language: spec.language,
    runtime: spec.runtime,
    code_sha256: sha256Hex(spec.code),
    stdin_sha256: spec.stdin === null ? null : sha256Hex(spec.stdin),
    args_sha256: digestOf(argumentsText(spec)),
    env_sha256: digestOf(variablesText(spec)),
    policy_sha256: sha256Hex(policyText(spec)),
    requested_limits: spec.limits,
    input_artifacts: spec.files.map(inputArtifact),
  };
}

function digestOf(text: string | null): string | null {
  return text === null ? null : sha256Hex(text);
}

function inputArtifact({ path, content_base64 }: InputFile): ArtifactRecord {
  const content = Buffer.from(content_base64, 'base64');
  return { path, size_bytes: content.length, sha256: sha256Hex(content) };
}
