/** A refusal that a caller can act on. Details for the operator are in `cause`, never in the message. */
import { ERRORS, type ErrorCode, type Scope } from '@vouchbox/protocol/vocabulary';

export interface ServiceErrorOptions {
  /** Whole seconds for `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** The scope that the credential lacks. The challenge in the answer names it. */
  readonly scope?: Scope;
  readonly cause?: unknown;
}

/** May be thrown anywhere; only `http/` turns it into an answer. Status and `retryable` come from the one error table. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | null;
  readonly scope: Scope | null;

  /** `publicMessage` reaches the client: it must contain no secret, no path on the host, and no SQL. */
  constructor(code: ErrorCode, publicMessage: string, options: ServiceErrorOptions = {}) {
    super(publicMessage, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
    this.scope = options.scope ?? null;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** The refusal of a request that the contract does not allow. */
export function invalidRequest(publicMessage: string): ServiceError {
  return new ServiceError('invalid_request', publicMessage);
}
