/** A mistake of the person at the command line, in one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
