/** A fault in the command line, described in one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
