/**
 * The requests that an adapter has taken and not answered. They wait for their turn in its client, and each holds its body, so
 * their number and their bytes are bounded. One more is refused at once.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AdapterError } from './adapter-error.ts';

/** The total size of all open requests of an adapter. */
export interface OpenRequestsMax {
  readonly requests: number;
  readonly bytes: number;
}

export const OPEN_REQUESTS_MAX: OpenRequestsMax = { requests: 4096, bytes: 256 * 1024 * 1024 };

/** Bounds the open requests of a server. @throws AdapterError 503 for a request beyond the bound */
export function boundOpenRequests(app: FastifyInstance, most: OpenRequestsMax): void {
  const open = new Map<FastifyRequest, number>();
  let bytes = 0;
  const close = (request: FastifyRequest) => {
    bytes -= open.get(request) ?? 0;
    open.delete(request);
  };
  app.addHook('onRequest', async (request, reply) => {
    const size = bodyBytesOf(request, app.initialConfig.bodyLimit ?? 0);
    if (open.size >= most.requests || bytes + size > most.bytes)
      throw new AdapterError(503, 'queue is full', null, { retryAfterSeconds: 1 });
    open.set(request, size);
    bytes += size;
    // If a caller hangs up, a request that was sent whole still runs.
    reply.raw.once('close', () => {
      if (!request.raw.complete) close(request);
    });
  });
  app.addHook('onSend', async (request) => close(request));
}

/** The length that the request declares, or else the most that it may have. */
function bodyBytesOf({ headers }: FastifyRequest, bytesMax: number): number {
  if (headers['transfer-encoding'] !== undefined) return bytesMax;
  return Math.min(Number(headers['content-length'] ?? 0), bytesMax);
}
