/** The address of a stream, made from the service's address and the stream URL it gave. */
import type { Endpoint } from './transport.ts';

/** A `ws:` or `wss:` address that starts after a sequence number. `path` begins with a slash and may have a query. */
export function streamAddress(endpoint: Endpoint, path: string, after: number): string {
  const url = new URL(endpoint.baseUrl.replace(/\/$/, '') + path);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.searchParams.set('after', String(after));
  return url.href;
}
