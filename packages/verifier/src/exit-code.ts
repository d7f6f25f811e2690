/** The exit codes of `service-verify`: zero for a good verdict, and a different number for each kind of bad one. */
export const EXIT = {
  good: 0,
  /** The command line is wrong, or a file that it names cannot be read: nothing was verified. */
  usage: 1,
  /** No pinned key signed this envelope, or a pinned key is malformed. */
  signature: 2,
  /** The signature is about other bytes. */
  subject: 3,
  /** The signed text is not a complete statement of the service's profile about the expected job and tenant. */
  profile: 4,
  /** The attestation is good, but the job does not meet the policy. */
  policy: 5,
  /** The history, the receipt, the files and their lists contradict one another: something was changed or is missing. */
  record: 6,
  /** The input has a form that no export has: foreign, special or too large files, or no manifest. Nothing was verified. */
  notAnExport: 7,
  /** A fault in the verifier itself. */
  internal: 70,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
