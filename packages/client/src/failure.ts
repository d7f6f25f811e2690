/**
 * The two ways in which a call can fail: the service refused it with its error envelope, or no usable answer came.
 * Callers tell them apart by class and act on `code` and `reason`, never on message text.
 */
import type { ErrorCode } from '@vouchbox/protocol';

export interface ServiceFailureFields {
  readonly code: ErrorCode | (string & {});
  readonly status: number;
  readonly retryable: boolean;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
}

/** A structured refusal by the service. Spec § Errors: status and code are authoritative. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';
  /** One of the contract's codes, or one that a newer service added. */
  readonly code: ErrorCode | (string & {});
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** The id by which an operator finds the request. */
  readonly requestId: string | null;
  /** Seconds of `Retry-After`; null if the service named none. */
  readonly retryAfterSeconds: number | null;

  constructor(message: string, fields: ServiceFailureFields) {
    super(message);
    this.code = fields.code;
    this.status = fields.status;
    this.retryable = fields.retryable;
    this.requestId = fields.requestId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }
}

/**
 * - `network`: no answer, or the connection ended inside it
 * - `timeout`: no answer within the request's deadline
 * - `truncated`: fewer or more bytes than the declared `Content-Length`
 * - `undecodable`: a body that is not the JSON it should be
 * - `unstructured`: an HTTP error without the service's envelope, as a proxy or an older server gives
 * - `digest`: exact bytes whose `X-Content-Sha256` is missing, malformed or another
 */
export type TransportFailureReason = 'network' | 'timeout' | 'truncated' | 'undecodable' | 'unstructured' | 'digest';

interface TransportFailureOptions extends ErrorOptions {
  readonly status?: number;
  readonly retryAfterSeconds?: number | null;
}

/** No usable answer came. Whether the service acted on the request is unknown. */
export class TransportFailure extends Error {
  override readonly name = 'TransportFailure';
  readonly reason: TransportFailureReason;
  /** The HTTP status, if there was one. */
  readonly status: number | null;
  /** Seconds of `Retry-After`, if there were any: proxies send it too. */
  readonly retryAfterSeconds: number | null;

  constructor(reason: TransportFailureReason, message: string, options: TransportFailureOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.reason = reason;
    this.status = options.status ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }
}
