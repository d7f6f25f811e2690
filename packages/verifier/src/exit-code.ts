/** What the exit code of `service-verify` says: zero for a good verdict, and another number for each way to a bad one. */
import type { VerificationFailure } from '@svc/evidence';

export const EXIT = {
  good: 0,
  /** The command line is wrong, or a file that it names cannot be read: nothing was verified. */
  usage: 1,
  /** No pinned key signed this envelope, or a pinned key is none. */
  signature: 2,
  /** What was signed is about other bytes. */
  subject: 3,
  /** What was signed is no complete statement of this profile about the expected job and tenant. */
  profile: 4,
  /** The attestation is good, and the job is not what the policy demands. */
  policy: 5,
  /** A history, a receipt or an exported directory does not hold together. */
  record: 6,
  /** A fault of the verifier itself. */
  internal: 70,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The exit code of a failed check of an attestation. */
export const FAILURE_EXIT: Readonly<Record<VerificationFailure, ExitCode>> = {
  signature: EXIT.signature,
  subject: EXIT.subject,
  profile: EXIT.profile,
};
