/**
 * The form of a refusal on the wire. Routes, the router and the HTTP parser all use the same envelope and headers, made
 * from the same error table. Spec § Errors; RFC 6750 § 3.
 */
import { ERRORS, type ErrorEnvelope } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';

/** The most characters in a public message. A message may contain text from the request. */
const messageCharsMax = 200;

/** The default Retry-After when a request is refused for lack of capacity. */
const retryAfterSecondsDefault = 1;
const CAPACITY_STATUSES: ReadonlySet<number> = new Set([429, 503, 507]);

export interface RefusalContext {
  readonly requestId: string;
  /** Whether the request carried a token. This decides the form of the challenge. */
  readonly hasToken: boolean;
}

/** An answer that is ready to be sent. `headers` include `content-length`. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The headers that every answer has. */
export const PLAIN_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** The answer for a refusal. */
export function refusalOf(error: ServiceError, context: RefusalContext): Refusal {
  const envelope: ErrorEnvelope = {
    error: {
      code: error.code,
      message: printable(error.message),
      request_id: context.requestId,
      retryable: error.retryable,
    },
  };
  const body = Buffer.from(JSON.stringify(envelope));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'x-request-id': context.requestId,
    ...PLAIN_HEADERS,
    ...retryAfter(error),
    ...challenge(error, context),
  };
  return { status: error.status, headers, body };
}

function retryAfter(error: ServiceError): Record<string, string> {
  const fallback = CAPACITY_STATUSES.has(error.status) && error.retryable ? retryAfterSecondsDefault : null;
  const seconds = error.retryAfterSeconds ?? fallback;
  return seconds === null ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) };
}

function challenge(error: ServiceError, { hasToken }: RefusalContext): Record<string, string> {
  const realm = 'Bearer realm="svc"';
  if (error.code === 'unauthorized')
    return { 'www-authenticate': hasToken ? `${realm}, error="invalid_token"` : realm };
  // Another credential of the tenant may be allowed to do this.
  if (error.code === 'principal_not_allowed') return { 'www-authenticate': realm };
  if (error.code !== 'insufficient_scope') return {};
  const wanted = error.scope === null ? '' : `, scope="${error.scope}"`;
  return { 'www-authenticate': `${realm}, error="insufficient_scope"${wanted}` };
}

/** Text that is safe to show: bounded, and without characters that are invisible or act on a terminal. */
function printable(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, escaped);
  return plain.length > messageCharsMax ? `${plain.slice(0, messageCharsMax - 1).toWellFormed()}…` : plain;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Refusals that Fastify itself makes before a handler runs, in the contract's words. */
const FRAMEWORK_REFUSALS: Readonly<Record<string, ServiceError>> = {
  FST_ERR_BAD_URL: new ServiceError('invalid_request', 'The request target is not a valid path.'),
  FST_ERR_MAX_PARAM_LENGTH: new ServiceError('route_not_found', ERRORS.route_not_found.meaning),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new ServiceError('unsupported_media_type', 'The content type is malformed.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new ServiceError('invalid_request', 'The content length does not fit the body.'),
};

/** The refusal that a caller gets for an error. An unexpected error becomes `internal` and keeps its cause. */
export function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = (error as { code?: unknown } | null)?.code;
  const known = typeof code === 'string' ? FRAMEWORK_REFUSALS[code] : undefined;
  return known ?? new ServiceError('internal', 'The service failed to answer the request.', { cause: error });
}
