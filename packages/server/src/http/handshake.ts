/** Which requests may become a WebSocket, and which of those have a faulty handshake. RFC 6455 § 4.2.1. */
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../service-error.ts';

/** The path of the one operation that is a WebSocket. */
const STREAM_PATH = /^\/v1\/jobs\/[^/?]+\/stream(?:\?|$)/;
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Whether a request wishes to become the stream of a job. Every other wish to upgrade is ignored: RFC 9110 § 7.8. */
export function isStreamHandshake({ method, url = '', headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && STREAM_PATH.test(url);
}

/** Why a handshake is refused, or null. A page of another origin has no business here: Spec § Authentication 7. */
export function handshakeFault({ headers }: IncomingMessage): ServiceError | null {
  if (headers['sec-websocket-version'] !== '13') {
    return new ServiceError('invalid_request', 'The stream is opened with version 13 of the WebSocket protocol.');
  }
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) {
    return new ServiceError('invalid_request', 'The header "sec-websocket-key" is malformed.');
  }
  const { origin, host } = headers;
  if (origin !== undefined && hostOf(origin) !== host?.toLowerCase()) {
    return new ServiceError('invalid_request', 'A page of another origin may not open the stream.');
  }
  return null;
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
