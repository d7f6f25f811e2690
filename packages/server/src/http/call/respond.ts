/** Sends answers: small JSON in one write, large bodies through the pump, and refusals in the envelope. */
import { Readable } from 'node:stream';
import {
  type AnswerBody,
  type AnswerHeaderOf,
  type MediaTypeOf,
  type OperationId,
  responsePumpBytes,
  type StatusOf,
} from '@vouchbox/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JsonText } from '../../ground/json-text.ts';
import type { ServiceError } from '../../ground/service-error.ts';
import type { Body, LongPart } from '../../job/body.ts';
import { pumpOf } from '../answer/pump.ts';
import { refusalOf } from '../answer/refusal.ts';
import { beforeDiscarding, hasUnreadBody } from '../request/unread-body.ts';
import type { Call } from './call.ts';

/** The headers of an answer, if it has any beyond those that every answer has. */
type Headers<Id extends OperationId, Status> = [AnswerHeaderOf<Id, Status>] extends [never]
  ? []
  : [headers: Readonly<Record<AnswerHeaderOf<Id, Status>, string>>];

/**
 * Sends a value as JSON with a declared length. A text that fits into one of the pump's pieces is sent in one write with
 * the answer's head. A longer text goes through the pump.
 */
export function sendJson<Id extends OperationId, Status extends StatusOf<Id>>(
  call: Call<Id>,
  status: Status,
  value: AnswerBody<Id, Status>,
  ...[headers]: Headers<Id, Status>
): FastifyReply {
  if (headers !== undefined) call.reply.headers(headers);
  return sendTextTo(call.reply, status, JSON.stringify(value));
}

/** Sends JSON text in the same way. */
export function sendJsonText<Id extends OperationId, Status extends StatusOf<Id>>(
  call: Call<Id>,
  status: Status,
  text: JsonText<AnswerBody<Id, Status>>,
  ...[headers]: Headers<Id, Status>
): FastifyReply {
  call.claimFor({ bytes: Buffer.byteLength(text) });
  if (headers !== undefined) call.reply.headers(headers);
  return sendTextTo(call.reply, status, text);
}

/** Sends a status whose answer has no body. */
export function sendNothing<Id extends OperationId, Status extends StatusOf<Id>>(
  { reply }: Call<Id>,
  status: Status,
  ...[headers]: Headers<Id, Status>
): FastifyReply {
  if (headers !== undefined) reply.headers(headers);
  return sendEmpty(reply.code(status as number));
}

/** Sends no body. For HEAD, Fastify itself would send `content-length: 0`, although GET states another length. */
export function sendEmpty(reply: FastifyReply): FastifyReply {
  return reply.send(reply.request.method === 'HEAD' ? Readable.from([]) : undefined);
}

/** Sends JSON that is read while it is sent, through the pump and with a declared length. */
export function sendBody<Id extends OperationId, Status extends StatusOf<Id>>(
  call: Call<Id>,
  status: Status,
  body: Body<AnswerBody<Id, Status>>,
  ...[headers]: Headers<Id, Status>
): FastifyReply {
  call.claimFor(body);
  if (headers !== undefined) call.reply.headers(headers);
  return sendBodyTo(call.reply, status, body);
}

/** Sends JSON as `sendBody` does, for a path that is not an operation. */
export function sendBodyTo(reply: FastifyReply, status: number, body: Body<unknown>): FastifyReply {
  if (body.text !== null) return sendTextTo(reply, status, body.text);
  return pumpTo(reply, body, { status, mediaType: JSON_TYPE });
}

/** Sends exact bytes with a declared length. If they are longer than one piece, they go through the pump. */
export function sendBytes<Id extends OperationId, Status extends StatusOf<Id>>(
  call: Call<Id>,
  status: Status,
  { mediaType, bytes }: { mediaType: MediaTypeOf<Id, Status>; bytes: Buffer },
  ...[headers]: Headers<Id, Status>
): FastifyReply {
  call.claimFor({ bytes: bytes.length });
  if (headers !== undefined) call.reply.headers(headers);
  return sendBytesTo(call.reply, bytes, { status, mediaType });
}

/** Sends exact bytes that are read while they are sent, through the pump and with a declared length. */
export function sendPieces<Id extends OperationId, Status extends StatusOf<Id>>(
  call: Call<Id>,
  status: Status,
  { mediaType, content }: { mediaType: MediaTypeOf<Id, Status>; content: LongPart },
  ...[headers]: Headers<Id, Status>
): FastifyReply {
  call.claimFor(content);
  if (headers !== undefined) call.reply.headers(headers);
  return pumpTo(call.reply, content, { status, mediaType });
}

const JSON_TYPE = 'application/json';

/** The most UTF-8 bytes that one UTF-16 unit can take. */
const bytesPerUnitMax = 3;

export function sendTextTo(reply: FastifyReply, status: number, text: string): FastifyReply {
  if (text.length > responsePumpBytes / bytesPerUnitMax) {
    return sendBytesTo(reply, Buffer.from(text), { status, mediaType: JSON_TYPE });
  }
  // JSON has no charset parameter. Without this serializer, Fastify adds one to the media type.
  return reply.code(status).header('content-type', JSON_TYPE).serializer(asItIs).send(text);
}

function asItIs(text: unknown): string {
  return text as string;
}

interface Sent {
  readonly status: number;
  readonly mediaType: string;
}

export function sendBytesTo(reply: FastifyReply, bytes: Buffer, answer: Sent): FastifyReply {
  reply.code(answer.status).header('content-type', answer.mediaType).header('content-length', bytes.length);
  return reply.send(bytes.length > responsePumpBytes ? pumpOf([bytes], bytes.length) : bytes);
}

export function pumpTo(reply: FastifyReply, content: LongPart, answer: Sent): FastifyReply {
  reply.code(answer.status).header('content-type', answer.mediaType).header('content-length', content.bytes);
  // For a HEAD request, nothing is read.
  return reply.send(reply.request.method === 'HEAD' ? Readable.from([]) : pumpOf(content.pieces(), content.bytes));
}

/** Sends a refusal. If the request has a body that nobody read, its connection is closed afterwards. */
export function sendRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { error, headers = {} }: { error: ServiceError; headers?: Readonly<Record<string, string>> },
): FastifyReply {
  const refusal = refusalOf(error, {
    requestId: request.id,
    hasToken: /^Bearer\s+\S/i.test(request.headers.authorization ?? ''),
  });
  reply.code(refusal.status).headers(refusal.headers).headers(headers);
  if (!hasUnreadBody(request.raw)) return reply.send(refusal.body);
  return reply.header('connection', 'close').send(Readable.from(beforeDiscarding(refusal.body, request.raw)));
}
