/**
 * The stream of a job and the tickets that open it. Everything that can be refused is refused as plain HTTP, before the
 * connection becomes a WebSocket. Spec § POST /v1/jobs/{id}/stream-ticket, § WebSocket stream.
 */
import type { WebSocket } from '@fastify/websocket';
import { StreamQuery } from '@svc/protocol';
import type { FastifyRequest, RouteOptions } from 'fastify';
import { ServiceError } from '../../ground/service-error.ts';
import { answered } from '../../job/answered.ts';
import { jobNotFound } from '../../job/refusals.ts';
import { holdPermitUntilAnswered } from '../answer/answer-end.ts';
import { sendJson } from '../answer/respond.ts';
import { callerOf, type OperationHandler } from '../operation.ts';
import { readEmptyBody } from '../request/body.ts';
import { jobIdOf } from '../request/job-id.ts';
import { queryReader } from '../request/query.ts';
import { refuseWhenStopping } from '../stopping.ts';
import { serveStream } from '../stream/stream.ts';
import type { RouteContext } from './context.ts';

const readStream = queryReader(StreamQuery);

export function ticketHandler({ permits, authority, tickets, stopping, bounds }: RouteContext): OperationHandler {
  return async (request, reply) => {
    refuseWhenStopping(stopping);
    const caller = callerOf(request);
    const job_id = jobIdOf(request);
    await readEmptyBody(request, reply, { permits, authority, caller, millisecondsMax: bounds.bodyMilliseconds });
    const minted = await answered(tickets.mint(caller, job_id));
    if (minted === null) throw jobNotFound();
    const { ticket, expires_at, expires_in } = minted;
    const stream_url = `/v1/jobs/${job_id}/stream?ticket=${ticket}`;
    return sendJson(reply, 201, { ticket, stream_url, expires_at, expires_in });
  };
}

/** The route beyond what every operation has: what happens before and after the connection becomes a WebSocket. */
export function streamRoute(context: RouteContext): Required<Pick<RouteOptions, 'preHandler' | 'wsHandler'>> {
  const { jobs, permits, stopping, connections, authority, log } = context;
  return {
    preHandler: async (request, reply) => {
      // No platform tells its programs what a WebSocket was refused with: a plain request is refused with the same.
      refuseWhenStopping(stopping);
      readStream(request.query);
      await jobs.replay(callerOf(request), jobIdOf(request), { after: 0, limit: 1 });
      holdPermitUntilAnswered(reply, permits, 'stream');
      if (!request.ws) return;
      // For the log: the answer itself is written by the WebSocket server.
      reply.raw.statusCode = 101;
    },
    wsHandler: async (socket: WebSocket, request: FastifyRequest) => {
      const { after = 0 } = readStream(request.query);
      const stream = { caller: callerOf(request), job_id: jobIdOf(request), after, requestId: request.id };
      const connection = request.raw.socket;
      await serveStream(socket, { ...stream, connection, jobs, connections, authority, stopping, log });
    },
  };
}

/** What the operation answers to a request that does not ask for a WebSocket. */
export const refusePlainStream: OperationHandler = async () => {
  throw new ServiceError('invalid_request', 'This operation is opened as a WebSocket.');
};
