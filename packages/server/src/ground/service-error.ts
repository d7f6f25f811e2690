/** A refusal that a caller can act on. Details for the operator are in `cause`, never in the message. */
import { ERRORS, type ErrorCode, type Scope } from '@vouchbox/protocol/vocabulary';

export interface ServiceErrorOptions {
  /** Whole seconds for `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** The scope that a credential lacks, which the challenge in the answer names. */
  readonly scope?: Scope;
  readonly cause?: unknown;
}

/** Thrown on every floor, answered only by `http/`: status and `retryable` come from the one error table. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | null;
  readonly scope: Scope | null;

  /** `publicMessage` reaches the client: it must contain no secret, path of the host or SQL. */
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
