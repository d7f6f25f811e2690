/**
 * One HTTP exchange with the service: the request with its credential, then the whole answer or a failure. It never
 * retries, never follows a redirect (which would give the key to another host) and never returns part of a body.
 */
import type { ErrorEnvelope } from '@vouchbox/protocol';
import { ServiceFailure, TransportFailure } from './failure.ts';

export interface Endpoint {
  /** The service's address, such as `http://127.0.0.1:8080`; a path prefix is kept. */
  readonly baseUrl: string;
  /** The bearer credential; null if only public routes are used. */
  readonly apiKey: string | null;
}

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Absolute path with its query, from `/`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** An unsuccessful status whose body is an answer, unless it is the error envelope. */
  readonly answerStatus?: number;
  /** Milliseconds from sending to the last byte of the answer. */
  readonly timeoutMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
}

/** A complete, successful answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Sends a request and returns its whole answer, or throws `ServiceFailure` or `TransportFailure`. */
export async function exchange(endpoint: Endpoint, request: Exchange): Promise<Answer> {
  const deadline = AbortSignal.timeout(Math.ceil(request.timeoutMilliseconds));
  const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
  const answer = await fetchWhole(endpoint, request, signal).catch((error: unknown) => {
    request.signal?.throwIfAborted();
    if (error instanceof TransportFailure) throw error;
    const what = `${request.method} ${request.path.split('?')[0]}`;
    if (deadline.aborted) throw new TransportFailure('timeout', `no answer in time to ${what}`, { cause: error });
    throw new TransportFailure('network', `no answer to ${what}`, { cause: error });
  });
  if (answer.status >= 200 && answer.status < 300) return answer;
  if (answer.status === request.answerStatus && !isEnvelope(parse(answer.bytes))) return answer;
  throw refusal(answer);
}

async function fetchWhole(endpoint: Endpoint, request: Exchange, signal: AbortSignal): Promise<Answer> {
  const headers = new Headers({ accept: 'application/json', ...request.headers });
  if (endpoint.apiKey !== null) headers.set('authorization', `Bearer ${endpoint.apiKey}`);
  if (request.body !== undefined) headers.set('content-type', 'application/json');
  const response = await fetch(endpoint.baseUrl.replace(/\/$/, '') + request.path, {
    method: request.method,
    headers,
    signal,
    redirect: 'error',
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  refuseTruncated(response, bytes);
  return { status: response.status, headers: response.headers, bytes };
}

/** A body whose length is not the declared one is incomplete and must not be parsed. Spec § Response transfer rules. */
function refuseTruncated(response: Response, bytes: Uint8Array): void {
  const declared = response.headers.get('content-length');
  if (declared === null || response.headers.has('content-encoding')) return;
  if (Number(declared) === bytes.length) return;
  throw new TransportFailure('truncated', `the answer has ${bytes.length} of ${declared} bytes`, {
    status: response.status,
  });
}

/** Decodes an answer's JSON object. */
export function decodeJson<T>(answer: Answer): T {
  const value = parse(answer.bytes);
  if (typeof value === 'object' && value !== null) return value as T;
  throw new TransportFailure('undecodable', 'the answer is not a JSON object', { status: answer.status });
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function refusal(answer: Answer): ServiceFailure | TransportFailure {
  const value = parse(answer.bytes);
  const retryAfterSeconds = secondsOf(answer.headers.get('retry-after'));
  if (!isEnvelope(value)) {
    return new TransportFailure('unstructured', `HTTP ${answer.status} without an error envelope`, {
      status: answer.status,
      retryAfterSeconds,
    });
  }
  const { code, message, request_id, retryable } = value.error;
  return new ServiceFailure(message, {
    code,
    status: answer.status,
    retryable,
    requestId: answer.headers.get('x-request-id') ?? request_id,
    retryAfterSeconds,
  });
}

function isEnvelope(value: unknown): value is ErrorEnvelope {
  if (typeof value !== 'object' || value === null || !('error' in value)) return false;
  const { error } = value;
  if (typeof error !== 'object' || error === null) return false;
  return 'code' in error && typeof error.code === 'string' && 'message' in error && typeof error.message === 'string';
}

/** The service sends whole seconds. A date, as a proxy may send, counts from now. RFC 9110 § 10.2.3. */
function secondsOf(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}
