/** An adapter's answer if it cannot serve a request, or if no program ran. */
import { ServiceFailure, TransportFailure } from '@vouchbox/client';

interface AdapterErrorOptions extends ErrorOptions {
  readonly retryAfterSeconds?: number | null;
}

/** An adapter's answer that reports an error. */
export class AdapterError extends Error {
  override readonly name = 'AdapterError';
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The member of the request that the message is about; null if the message is about no single member. */
  readonly member: string | null;
  /** Seconds until the service would accept the request; null if the service did not say. */
  readonly retryAfterSeconds: number | null;

  constructor(status: number, message: string, member: string | null = null, options: AdapterErrorOptions = {}) {
    super(message, options);
    this.status = status;
    this.member = member;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }
}

/** An error for a part of another system's interface that has no counterpart here. */
export function unsupported(member: string, why: string): AdapterError {
  return new AdapterError(422, why, member);
}

/**
 * The answer to a request that failed with this error. A refusal by the service stays a refusal with the same status. The
 * answer shows neither the cause of an internal failure nor a secret of the adapter, such as its key.
 */
export function adapterErrorOf(error: unknown): AdapterError {
  if (error instanceof AdapterError) return error;
  if (error instanceof ServiceFailure) {
    const { message, retryAfterSeconds } = error;
    // A problem with the adapter's own key is not the caller's error.
    const status = error.status === 401 || error.status === 403 ? 502 : error.status;
    return new AdapterError(status, message, null, { retryAfterSeconds, cause: error });
  }
  if (error instanceof TransportFailure) {
    return new AdapterError(502, 'the service gave no usable answer', null, { cause: error });
  }
  const { statusCode = 500 } = (error ?? {}) as { readonly statusCode?: number };
  const message = statusCode < 500 ? (error as Error).message : 'the adapter failed';
  return new AdapterError(statusCode, message, null, { cause: error });
}

/** Whether the service or the adapter itself caused the error. */
export function isServices({ status }: AdapterError): boolean {
  return status === 429 || status >= 500;
}

/** Awaits the work, and turns a failure into an error answer. @throws AdapterError */
export async function refusals<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw adapterErrorOf(error);
  }
}
