/** The address of a stream, made from the service's address and the stream URL it gave. */
import type { Endpoint } from './transport.ts';

/** A `ws:` or `wss:` address that starts after a sequence number. `path` begins with a slash and may have a query. */
export function streamAddress({ baseUrl }: Endpoint, path: string, after: number): string {
  const url = new URL(baseUrl.replace(/^http/, 'ws') + path);
  url.searchParams.set('after', String(after));
  return url.href;
}

/** The path from before stream tickets, only for a caller who allowed the key in it. Spec § Authentication 6. */
export function legacyStreamPath({ apiKey }: Endpoint, job_id: string): string {
  return `/v1/jobs/${encodeURIComponent(job_id)}/stream?api_key=${encodeURIComponent(apiKey ?? '')}`;
}
