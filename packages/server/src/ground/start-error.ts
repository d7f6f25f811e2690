/** Why the service did not start, for the person who starts it. */

export interface StartErrorOptions {
  /** The advice, in one sentence without its full stop. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** Ends a start with one clear line. `message` and `hint` hold no secret: both are printed. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly hint: string | null;

  constructor(message: string, options: StartErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.hint = options.hint ?? null;
  }
}
