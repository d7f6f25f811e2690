/**
 * The requests that an adapter has received but not yet answered. They wait for their turn in the client. Each keeps its body in
 * memory, so their number and their bytes are bounded. A request beyond a bound is refused at once.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AdapterError } from './adapter-error.ts';

/** Bounds on all open requests of one adapter together: their number and their bytes. */
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
    // A request that has arrived whole still runs if its caller hangs up.
    reply.raw.once('close', () => {
      if (!request.raw.complete) close(request);
    });
  });
  app.addHook('onSend', async (request) => close(request));
}

/** The declared length of the body, or the greatest allowed length if the body comes in chunks. */
function bodyBytesOf({ headers }: FastifyRequest, bytesMax: number): number {
  if (headers['transfer-encoding'] !== undefined) return bytesMax;
  return Math.min(Number(headers['content-length'] ?? 0), bytesMax);
}
