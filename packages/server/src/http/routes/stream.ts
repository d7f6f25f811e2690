/**
 * A job's stream, and the tickets that open it. Every refusal is plain HTTP, sent before the connection becomes a
 * WebSocket. Spec § POST /v1/jobs/{id}/stream-ticket, § WebSocket stream.
 */
import { jobPath, type StreamTicket } from '@vouchbox/protocol';
import type { Tickets } from '../../access/tickets.ts';
import type { Caller } from '../../ground/caller.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { answered } from '../../job/answered.ts';
import { jobNotFound } from '../../job/refusals.ts';
import { readEmptyBody } from '../call/body.ts';
import { type Handler, refuseWhenStopping } from '../call/call.ts';
import { sendJson } from '../call/respond.ts';
import { serveStream } from '../stream/stream.ts';
import type { RouteContext } from './context.ts';

export function ticketHandler({ tickets }: RouteContext): Handler<'mintStreamTicket'> {
  return async (call) => {
    refuseWhenStopping(call);
    const { caller, job_id } = call;
    await readEmptyBody(call);
    return sendJson(call, 201, await mintedTicket(tickets, caller, job_id));
  };
}

/** A new ticket for this job's stream. @throws ServiceError `job_not_found`, or a refusal from the store */
export async function mintedTicket(tickets: Tickets, caller: Caller, job_id: string): Promise<StreamTicket> {
  const minted = await answered(tickets.mint(caller, job_id));
  if (minted === null) throw jobNotFound();
  const { ticket, expires_at, expires_in } = minted;
  return { ticket, stream_url: `${jobPath('streamEvents', job_id)}?ticket=${ticket}`, expires_at, expires_in };
}

/** Opens a stream. Until the connection becomes a WebSocket, every refusal is plain HTTP. */
export function streamHandler(context: RouteContext): Handler<'streamEvents'> {
  const { jobs, stopping, connections, authority, log, webSockets } = context;
  return async (call) => {
    const { caller, job_id, request, reply } = call;
    // Platforms do not tell programs why a WebSocket was refused. A plain request gets the same refusal, with the reason.
    refuseWhenStopping(call);
    const { after, include } = call.readQuery();
    await jobs.replay(caller, job_id, { after: 0, limit: 1 });
    const gaveWay = new AbortController();
    const place = call.hold('stream', () => gaveWay.abort());
    if (!webSockets.has(request)) throw new ServiceError('invalid_request', 'This operation is opened as a WebSocket.');
    place.claim();
    // A ticket allows only reading.
    const isReader = request.headers.authorization === undefined || !caller.scopes.includes('jobs:submit');
    const takesMessages = !isReader && (await jobs.answersTools(caller, job_id));
    // Only for the log, because the WebSocket server writes the answer itself.
    reply.raw.statusCode = 101;
    const connection = request.raw.socket;
    const stream = { caller, job_id, after, include, requestId: request.id, connection, gaveWay: gaveWay.signal };
    const shared = { ...stream, takesMessages, jobs, connections, authority, stopping, log };
    webSockets.accept(request, reply, {
      answers: takesMessages,
      serve: (socket) => serveStream(socket, shared),
    });
    return reply;
  };
}
