/** Which requests ask for a WebSocket, and why such a request is refused. RFC 6455 § 4.2.1. */
import type { IncomingMessage } from 'node:http';
import { invalidRequest, type ServiceError } from '../../ground/service-error.ts';
import { readTarget } from './target.ts';
import { hasBody } from './unread-body.ts';

/** The path of the one operation that is a WebSocket. */
const STREAM_PATH = /^\/v1\/jobs\/[^/?]+\/stream(?:\?|$)/;
const KEY = /^[A-Za-z0-9+/]{22}==$/;
/** RFC 9110 § 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * Whether a request asks to become a job's stream. Every other upgrade is ignored, and so is an upgrade in HTTP/1.0 or
 * one that the `Connection` header does not name: RFC 9110 § 7.8. A request with a body is not a handshake, and is
 * refused because of the body.
 */
export function isStreamHandshake(request: IncomingMessage): boolean {
  const { method, httpVersion, url = '', headers } = request;
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket' || httpVersion !== '1.1') return false;
  if (hasBody(request)) return false;
  const isOfConnection = tokensOf(headers.connection ?? '').some((token) => token.toLowerCase() === 'upgrade');
  return isOfConnection && STREAM_PATH.test(readTarget(method, url)?.path ?? '');
}

/**
 * Why a handshake is refused; null if it is not. Everything that the WebSocket server itself would refuse is refused
 * here, in the envelope and before a ticket is spent. A page from another origin may open a stream only if the operator
 * allows it: Spec § Authentication 7.
 */
export function handshakeRefusal(
  { headers }: IncomingMessage,
  allowedOrigins: ReadonlySet<string>,
): ServiceError | null {
  if (headers['sec-websocket-version'] !== '13') {
    return invalidRequest('The stream is opened with version 13 of the WebSocket protocol.');
  }
  if (!KEY.test(headers['sec-websocket-key'] ?? ''))
    return invalidRequest('The header "sec-websocket-key" is malformed.');
  const protocols = headers['sec-websocket-protocol'];
  if (protocols !== undefined && !isListOfNames(protocols)) {
    return invalidRequest('The header "sec-websocket-protocol" is malformed.');
  }
  const { origin, host } = headers;
  if (origin === undefined || hostOf(origin) === host?.toLowerCase()) return null;
  if (allowedOrigins.has(origin.toLowerCase())) return null;
  return invalidRequest('A page of this origin may not open the stream.');
}

/** Whether the header lists names of subprotocols, each once. RFC 6455 § 11.3.4. */
function isListOfNames(header: string): boolean {
  const names = tokensOf(header);
  return names.every((name) => TOKEN.test(name)) && new Set(names).size === names.length;
}

function tokensOf(header: string): string[] {
  return header.split(',').map((token) => token.trim());
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
