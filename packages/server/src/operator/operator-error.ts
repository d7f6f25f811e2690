/** Why an operator's request cannot be carried out, in words for the person who asked. */

/** One clear line. `message` and `hint` must contain no secret, because both are printed. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
  readonly hint: string | null;

  constructor(message: string, options: { readonly hint?: string | null; readonly cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.hint = options.hint ?? null;
  }
}
