/** Why the service cannot sign. The message for the operator names the file, and the message for callers never does. */

/**
 * - `missing`: there is no key, although results were signed here before
 * - `exposed`: users other than the owner may read or replace the key
 * - `malformed`: the file holds no Ed25519 key
 * - `unusable`: the file or its directory cannot be read or made
 */
export type SigningKeyProblem = 'missing' | 'exposed' | 'malformed' | 'unusable';

const PUBLIC_REASONS: Readonly<Record<SigningKeyProblem, string>> = {
  missing: 'the signing key is missing',
  exposed: 'the signing key is open to other users of its host',
  malformed: 'the signing key is not an Ed25519 key',
  unusable: 'the signing key cannot be read',
};

/** One clear line for an operator, and a hint about what to do. Neither contains any part of a key. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
  readonly problem: SigningKeyProblem;
  /** One sentence without a full stop; null if there is nothing to suggest. */
  readonly hint: string | null;

  constructor(problem: SigningKeyProblem, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.problem = problem;
    this.hint = options.hint ?? null;
  }

  /** The reason without a path, because any caller may read it in the service's status. */
  get publicReason(): string {
    return PUBLIC_REASONS[this.problem];
  }
}
