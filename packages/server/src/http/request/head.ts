/**
 * The checks on a request's head before anything acts on it. Node's parser accepts heads that a proxy in front may read
 * differently: two hosts, versions that do not exist, codings under `chunked`. Each of these is refused and its connection is
 * closed, so that service and proxy can never disagree about where a request ends. RFC 9112 § 3.2, § 6.1, § 11.2.
 */
import type { IncomingMessage } from 'node:http';
import { invalidRequest, ServiceError } from '../../ground/service-error.ts';
import { readTarget } from './target.ts';

/** The most header lines in a request. Clients and proxies together send about thirty. */
export const headerLinesMax = 128;

/** Headers with a single value that this service or a proxy acts on. A second line could contradict the first. */
const SINGLE_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'origin',
  'sec-websocket-key',
  'sec-websocket-version',
  'transfer-encoding',
  'upgrade',
]);

/** A name or an address with an optional port. RFC 3986 § 3.2.2, without user information. */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+(?::\d{0,5})?$|^\[[0-9A-Fa-f:.]+\](?::\d{0,5})?$/;

/** Why a request must not be handled. If null, `url` is now a path or `*`, and the `host` header names the requested host. */
export function inspectHead(request: IncomingMessage): ServiceError | null {
  return (
    versionRefusal(request) ??
    headersRefusal(request) ??
    hostRefusal(request) ??
    framingRefusal(request) ??
    targetRefusal(request)
  );
}

function versionRefusal({ httpVersion }: IncomingMessage): ServiceError | null {
  if (httpVersion === '1.1' || httpVersion === '1.0') return null;
  return invalidRequest('This service speaks HTTP/1.1 alone.');
}

function headersRefusal({ headers, rawHeaders }: IncomingMessage): ServiceError | null {
  if (rawHeaders.length > headerLinesMax * 2) {
    return new ServiceError('head_too_large', `The request has more than ${headerLinesMax} header lines.`);
  }
  // If there are as many names as lines, no header is given twice. Nearly every request returns here.
  if (Object.keys(headers).length * 2 === rawHeaders.length) return null;
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.has(name)) return invalidRequest(`The header "${name}" is given twice.`);
    seen.add(name);
  }
  return null;
}

function hostRefusal({ httpVersion, headers }: IncomingMessage): ServiceError | null {
  if (headers.host === undefined) return httpVersion === '1.0' ? null : invalidRequest('The header "host" is missing.');
  return HOST.test(headers.host) ? null : invalidRequest('The header "host" is malformed.');
}

function framingRefusal({ httpVersion, headers }: IncomingMessage): ServiceError | null {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked')) {
    return invalidRequest('The transfer coding must be "chunked", in HTTP/1.1.');
  }
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new ServiceError('expectation_failed', 'The expectation must be "100-continue".');
  }
  return null;
}

/** Rewrites the target as a path or `*`. Refuses a target that is for a proxy or has a fragment: no client sends these. */
function targetRefusal(request: IncomingMessage): ServiceError | null {
  const target = readTarget(request.method, request.url ?? '');
  if (target === null) return invalidRequest('The request target must be a path.');
  if (target.host !== null && !HOST.test(target.host))
    return invalidRequest('The host of the request target is malformed.');
  request.url = target.path;
  request.headers.host = target.host ?? request.headers.host;
  return null;
}
