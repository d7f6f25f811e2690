/** Why a runtime pack cannot be built, read or trusted, for the operator who works with it. */

/** `message` is one line that names the problem; `hint` says what to do, if that is known. */
export class PackError extends Error {
  override readonly name = 'PackError';
  readonly hint: string | null;

  constructor(message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.hint = options.hint ?? null;
  }
}
