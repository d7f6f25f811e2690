/** The fault in the command line, in one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
