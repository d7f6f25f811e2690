/** A refusal that a caller can act on. Details for the operator are in `cause`, never in the message. */
import { ERRORS, type ErrorCode } from '@vouchbox/protocol/vocabulary';

export interface ServiceErrorOptions {
  /** Whole seconds for `Retry-After`. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** Thrown by every floor, answered by `http/` alone: status and `retryable` come from the one error table. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | null;

  /** `publicMessage` reaches the client: it must contain no secret, path of the host or SQL. */
  constructor(code: ErrorCode, publicMessage: string, options: ServiceErrorOptions = {}) {
    super(publicMessage, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}
