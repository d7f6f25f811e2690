/**
 * The stream of a job and the tickets that open it. Every refusal is plain HTTP, before the connection becomes a
 * WebSocket. Spec § POST /v1/jobs/{id}/stream-ticket, § WebSocket stream.
 */
import type { WebSocket } from '@fastify/websocket';
import { jobPath, StreamQuery } from '@vouchbox/protocol';
import type { FastifyRequest, RouteOptions } from 'fastify';
import { ServiceError } from '../../ground/service-error.ts';
import { answered } from '../../job/answered.ts';
import { jobNotFound } from '../../job/refusals.ts';
import { sendJson } from '../answer/respond.ts';
import { Call, callerOf, type Handler, refuseWhenStopping } from '../call.ts';
import { readEmptyBody } from '../request/body.ts';
import { jobIdOf } from '../request/job-id.ts';
import { readQuery } from '../request/query.ts';
import { serveStream } from '../stream/stream.ts';
import type { RouteContext } from './context.ts';

export function ticketHandler({ tickets }: RouteContext): Handler<'mintStreamTicket'> {
  return async (call) => {
    refuseWhenStopping(call);
    const { caller, job_id } = call;
    await readEmptyBody(call);
    const minted = await answered(tickets.mint(caller, job_id));
    if (minted === null) throw jobNotFound();
    const { ticket, expires_at, expires_in } = minted;
    const stream_url = `${jobPath('streamEvents', job_id)}?ticket=${ticket}`;
    return sendJson(call, 201, { ticket, stream_url, expires_at, expires_in });
  };
}

/** What only this route has: the steps before and after the connection becomes a WebSocket. */
export function streamRoute(context: RouteContext): Required<Pick<RouteOptions, 'preHandler' | 'wsHandler'>> {
  const { jobs, stopping, connections, authority, log } = context;
  return {
    preHandler: async (request, reply) => {
      const call = new Call('streamEvents', reply, context);
      // Platforms do not tell programs why a WebSocket was refused. A plain request gets the same refusal.
      refuseWhenStopping(call);
      call.readQuery();
      await jobs.replay(call.caller, call.job_id, { after: 0, limit: 1 });
      call.hold('stream');
      if (!request.ws) return;
      // For the log: the WebSocket server writes the answer itself.
      reply.raw.statusCode = 101;
    },
    wsHandler: async (socket: WebSocket, request: FastifyRequest) => {
      const { after } = readQuery(StreamQuery, request.query);
      const stream = { caller: callerOf(request), job_id: jobIdOf(request), after, requestId: request.id };
      const connection = request.raw.socket;
      await serveStream(socket, { ...stream, connection, jobs, connections, authority, stopping, log });
    },
  };
}

/** The answer to a request that does not ask for a WebSocket. */
export const refusePlainStream: Handler<'streamEvents'> = async () => {
  throw new ServiceError('invalid_request', 'This operation is opened as a WebSocket.');
};
