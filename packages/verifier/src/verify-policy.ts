/** `service-verify policy`: verifies an attestation in files, and compares the signed receipt with a policy. */
import { type Expectation, factsOf, NOTICE, verifyAttestation } from './attestation.ts';
import { EXIT } from './exit-code.ts';
import { type PolicyOptions, parsePolicy } from './policy.ts';
import { exitCodeOf, type Report } from './report.ts';
import { UsageError } from './usage-error.ts';
import { type AttestationFiles, readAttestation } from './verify.ts';

/** Verifies an attestation in files, and then checks that it meets the policy. */
export async function verifyPolicy(
  files: AttestationFiles,
  expected: Expectation,
  options: PolicyOptions,
): Promise<Report> {
  const policy = parsePolicy(options);
  if (policy === null) throw new UsageError('a policy demands something: --require, --code-sha256 or --max-age');
  const verdict = await verifyAttestation(readAttestation(files), expected);
  if (verdict.signed === null) return { ...verdict, facts: {}, notice: null };
  const demanded = policy(verdict.signed.predicate, Date.now());
  const exitCode = exitCodeOf(demanded, EXIT.policy);
  return {
    exitCode,
    checks: [...verdict.checks, ...demanded],
    facts: factsOf(verdict.signed),
    notice: exitCode === EXIT.good ? NOTICE : null,
  };
}
