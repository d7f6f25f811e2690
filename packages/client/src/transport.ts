/**
 * One HTTP exchange with the service: the request with its credential, then the whole answer or a failure. An exchange never
 * retries, never returns part of a body, and never follows a redirect, because that could give the key to another host.
 */
import { ServiceFailure, TransportFailure } from './failure.ts';
import { parseJson } from './parse-json.ts';

export interface Endpoint {
  /** The service's address, such as `http://127.0.0.1:8080`; a path prefix is kept. */
  readonly baseUrl: string;
  /** The bearer credential; null if only public routes are used. */
  readonly apiKey: string | null;
}

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The absolute path with its query, beginning with `/`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, sent as JSON. */
  readonly body?: unknown;
  /** The body, sent as these bytes. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** An unsuccessful status whose body counts as an answer, unless the body is the error envelope. */
  readonly answerStatus?: number;
  /** Leaves the body of a successful answer for the caller to read. */
  readonly stream?: boolean;
  /** Milliseconds from sending to the last byte of the answer. */
  readonly timeoutMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
}

/** A complete, successful answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The unread body of a streamed answer. The `bytes` of such an answer are empty. */
  readonly body?: Response['body'];
}

/** Sends a request and returns its whole answer, or throws `ServiceFailure` or `TransportFailure`. */
export async function exchange(endpoint: Endpoint, request: Exchange): Promise<Answer> {
  const deadline = AbortSignal.timeout(Math.ceil(request.timeoutMilliseconds));
  const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
  const answer = await fetchWhole(endpoint, request, signal).catch((error: unknown) => {
    request.signal?.throwIfAborted();
    if (error instanceof TransportFailure) throw error;
    const what = `${request.method} ${request.path.split('?')[0]}`;
    const [reason, when] = deadline.aborted ? (['timeout', ' in time'] as const) : (['network', ''] as const);
    throw new TransportFailure(reason, `no answer${when} to ${what}`, { cause: error });
  });
  if (answer.status >= 200 && answer.status < 300) return answer;
  if (answer.status === request.answerStatus && envelopeOf(answer.bytes) === null) return answer;
  throw refusal(answer);
}

async function fetchWhole(endpoint: Endpoint, request: Exchange, signal: AbortSignal): Promise<Answer> {
  const { method, path, headers, body, bytes } = request;
  const response = await fetch(endpoint.baseUrl + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(endpoint.apiKey !== null && { authorization: `Bearer ${endpoint.apiKey}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    signal,
    redirect: 'manual',
    // Undefined if the request has no body.
    body: bytes ?? JSON.stringify(body),
  });
  const received = request.stream && response.ok ? new Uint8Array() : await bodyOf(response);
  return { status: response.status, headers: response.headers, bytes: received, body: response.body };
}

/** The most bytes of an answer: as many as the largest file that can be uploaded. No other answer is as large. */
const answerBytesMax = 64 * 1024 * 1024;

/** Reads the whole body, but no more than an answer can have. */
async function bodyOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>> | null)?.getReader();
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    length += read.value.length;
    if (length > answerBytesMax) {
      await reader?.cancel();
      throw new TransportFailure('undecodable', `the answer has over ${answerBytesMax} bytes`, {
        status: response.status,
      });
    }
    parts.push(read.value);
  }
  refuseTruncated(response, length);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Refuses an incomplete body: one whose length differs from the declared length. Spec § Response transfer rules. */
function refuseTruncated({ headers, status }: Response, length: number): void {
  const declared = headers.get('content-length');
  if (declared === null || headers.has('content-encoding') || Number(declared) === length) return;
  throw new TransportFailure('truncated', `the answer has ${length} of ${declared} bytes`, { status });
}

/** Decodes an answer's JSON object. */
export function decodeJson<T>(answer: Answer): T {
  const value = parseJson(answer.bytes);
  if (typeof value === 'object' && value !== null) return value as T;
  throw new TransportFailure('undecodable', 'the answer is not a JSON object', { status: answer.status });
}

function refusal({ status, headers, bytes }: Answer): ServiceFailure | TransportFailure {
  const error = envelopeOf(bytes);
  const retryAfterSeconds = secondsOf(headers.get('retry-after'));
  if (error === null) {
    const message = `HTTP ${status} without an error of the service: is it the address of a service?`;
    return new TransportFailure('unstructured', message, { status, retryAfterSeconds });
  }
  const { code, message, request_id, retryable } = error;
  const requestId = headers.get('x-request-id') ?? request_id;
  return new ServiceFailure(message, { code, status, retryable, requestId, retryAfterSeconds });
}

interface ErrorMember {
  readonly code: string;
  readonly message: string;
  readonly request_id: string;
  readonly retryable: boolean;
}

/** The content of the error envelope; null if the body is not one. Spec § Errors. */
function envelopeOf(bytes: Uint8Array): ErrorMember | null {
  const error = (parseJson(bytes) as { error?: ErrorMember } | null | undefined)?.error;
  return typeof error?.code === 'string' && typeof error.message === 'string' ? error : null;
}

/** The seconds in `Retry-After`. The service sends whole seconds; a date from a proxy counts from now. RFC 9110 § 10.2.3. */
function secondsOf(header: string | null): number | null {
  if (header === null) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}
