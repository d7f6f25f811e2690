/** A stream's address, made from the service's address and the stream URL that the service gave. */
import { TransportFailure } from './failure.ts';
import type { Endpoint } from './transport.ts';

/**
 * A `ws:` or `wss:` address of a stream that starts after a sequence number. `include` names the parts of a last frame, if one is
 * wanted. `path` begins with a slash and may have a query.
 * @throws TransportFailure `undecodable` if the path leads away from the service
 */
export function streamAddress({ baseUrl }: Endpoint, path: string, after: number, include?: string): string {
  const base = baseUrl.replace(/^http/, 'ws');
  const url = URL.canParse(base + path) ? new URL(base + path) : null;
  if (url === null || !path.startsWith('/') || url.host !== new URL(base).host) {
    throw new TransportFailure('undecodable', 'the address of the stream is not one of this service');
  }
  url.searchParams.set('after', String(after));
  if (include !== undefined) url.searchParams.set('include', include);
  return url.href;
}

/** A stream's path on a server without tickets. It contains the key, so the caller must allow it. Spec § Authentication 6. */
export function legacyStreamPath({ apiKey }: Endpoint, job_id: string): string {
  return `/v1/jobs/${encodeURIComponent(job_id)}/stream?api_key=${encodeURIComponent(apiKey ?? '')}`;
}
