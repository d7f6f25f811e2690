/** How an answer leaves: small JSON at once, large bodies through the pump, refusals in the envelope. */
import { Readable } from 'node:stream';
import { responsePumpBytes } from '@svc/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '../../ground/service-error.ts';
import type { Body } from '../../job/body.ts';
import { beforeDiscarding, hasUnreadBody } from '../request/unread-body.ts';
import { pumpOf } from './pump.ts';
import { refusalOf } from './refusal.ts';

/**
 * Sends a value as JSON with a declared length. Text goes out in one write with its head; what is longer than a piece of
 * the pump goes through the pump.
 */
export function sendJson(reply: FastifyReply, status: number, value: unknown): FastifyReply {
  return sendJsonText(reply, status, JSON.stringify(value));
}

/** Sends JSON that is text already, in the same way. */
export function sendJsonText(reply: FastifyReply, status: number, text: string): FastifyReply {
  const answer = { status, mediaType: 'application/json' };
  if (text.length > responsePumpBytes / bytesPerUnitMax) return sendBytes(reply, Buffer.from(text), answer);
  // Without a serializer of its own Fastify adds a charset to the media type, which JSON does not have.
  return reply.code(status).header('content-type', answer.mediaType).serializer(asItIs).send(text);
}

/** Sends JSON that is read while it is sent, through the pump and with a declared length. */
export function sendBody(reply: FastifyReply, status: number, body: Body): FastifyReply {
  if (body.text !== null) return sendJsonText(reply, status, body.text);
  reply.code(status).header('content-type', 'application/json').header('content-length', body.bytes);
  // Nothing is read for whoever asks for the head alone.
  return reply.send(reply.request.method === 'HEAD' ? Readable.from([]) : pumpOf(body.pieces(), body.bytes));
}

/** Of UTF-8, for one UTF-16 unit. */
const bytesPerUnitMax = 3;

function asItIs(text: unknown): string {
  return text as string;
}

/** Sends exact bytes with a declared length; more than one piece of the pump goes through the pump. */
export function sendBytes(
  reply: FastifyReply,
  body: Buffer,
  { status, mediaType }: { status: number; mediaType: string },
): FastifyReply {
  reply.code(status).header('content-type', mediaType).header('content-length', body.length);
  return reply.send(body.length > responsePumpBytes ? pumpOf([body], body.length) : body);
}

/** Sends a refusal. A connection whose request has a body that nobody read is closed afterwards. */
export function sendRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { error, headers = {} }: { error: ServiceError; headers?: Readonly<Record<string, string>> },
): FastifyReply {
  const { access } = request.routeOptions.config.operation ?? {};
  const refusal = refusalOf(error, {
    requestId: request.id,
    hasToken: /^Bearer\s+\S/i.test(request.headers.authorization ?? ''),
    scope: access?.includes(':') ? access : null,
  });
  reply.code(refusal.status).headers(refusal.headers).headers(headers);
  if (!hasUnreadBody(request.raw)) return reply.send(refusal.body);
  return reply.header('connection', 'close').send(Readable.from(beforeDiscarding(refusal.body, request.raw)));
}
