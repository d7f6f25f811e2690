/**
 * The checks on every request before its handler: who the caller is, whether the tenant's budget allows the request,
 * and whether the credential allows it. The checks are made in this order, before a byte of a body is read.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Operation, SCOPES } from '@vouchbox/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Access, bearerToken } from '../access/authenticate.ts';
import type { Tickets } from '../access/tickets.ts';
import type { RateBudget } from '../capacity/rate.ts';
import { type Caller, requireScope } from '../ground/caller.ts';
import { ServiceError } from '../ground/service-error.ts';
import { answered } from '../job/answered.ts';
import { PLAIN_HEADERS } from './answer/refusal.ts';
import { bodyNotTaken, readNothing } from './call/body.ts';
import type { Connections } from './connections/connections.ts';
import { handshakeRefusal, isStreamHandshake } from './request/handshake.ts';
import { jobIdOf } from './request/path-id.ts';
import { refuseRepeated, refuseUnknownParameters } from './request/query.ts';
import { noSuchRoute } from './request/target.ts';
import { hasBody } from './request/unread-body.ts';
import type { AuthorityWatch } from './stream/authority.ts';

export interface EntryOptions {
  readonly access: Access;
  readonly tickets: Tickets;
  readonly rate: RateBudget;
  /** Null if the operator set no token. The operation for the global metrics then does not exist. */
  readonly metricsToken: string | null;
  /** Other origins whose pages may open a stream, beside the service's own host. They are in lower case. */
  readonly allowedOrigins: ReadonlySet<string>;
  /** How long the end of an empty body may take to arrive. */
  readonly bodyMilliseconds: number;
  /** Is told which caller each request's connection belongs to. */
  readonly authority: Pick<AuthorityWatch, 'hold' | 'release'>;
  /** Aborted once the service is stopping. */
  readonly stopping: AbortSignal;
  /** Is told which tenant's live credential a connection has shown. */
  readonly connections: Pick<Connections, 'recognize'>;
}

/** The hook. It rejects with the refusal. */
export function entryHook(options: EntryOptions): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    await enter(request, reply, options);
    await refuseWhatIsNotAsked(request, options);
  };
}

/** Rejects with the refusal if the caller may not make the request. */
async function enter(request: FastifyRequest, reply: FastifyReply, options: EntryOptions): Promise<void> {
  reply.header('x-request-id', request.id).headers(PLAIN_HEADERS);
  const isHandshake = isStreamHandshake(request.raw);
  if (options.stopping.aborted || isHandshake) reply.header('connection', 'close');
  if (isHandshake) refuseHandshake(request, reply, options);
  const access = accessOf(request);
  if (access === 'public') return;
  if (access === 'metrics_token') return await checkMetricsToken(request, options);
  const caller = await identify(request, options);
  if (caller instanceof ServiceError) throw caller;
  request.caller = caller;
  noteConnection(request.raw, caller, options);
  spendBudget(reply, options.rate, caller.tenant);
  for (const needed of [access, request.routeOptions.config.operation?.alsoAccess]) checkScope(caller, needed);
}

/** `/v1`, even if its characters are percent-encoded, since the path is then the same. RFC 3986 § 6.2.2.2. */
const UNDER_V1 = /^\/(?:v|%76)(?:1|%31)(?:[/?]|$)/;

/** The access that a request needs. Every path under /v1, even an unknown one, requires a credential. Spec § Authentication 1. */
function accessOf({ routeOptions, url }: FastifyRequest): Operation['access'] {
  const { operation } = routeOptions.config;
  if (operation !== undefined) return operation.access;
  return UNDER_V1.test(url) ? 'credential' : 'public';
}

function refuseHandshake({ raw }: FastifyRequest, reply: FastifyReply, { allowedOrigins }: EntryOptions): void {
  const refusal = handshakeRefusal(raw, allowedOrigins);
  if (refusal === null) return;
  // Tells a client with another WebSocket version which version to use: RFC 6455 § 4.4.
  reply.header('sec-websocket-version', '13');
  throw refusal;
}

/** Tells the watchers which caller a connection belongs to. A stream has a watch of its own. */
function noteConnection(raw: IncomingMessage, caller: Caller, { connections, authority }: EntryOptions): void {
  connections.recognize(raw.socket, caller.tenant);
  if (isStreamHandshake(raw)) authority.release(raw.socket);
  else authority.hold(raw.socket, caller);
}

async function refuseWhatIsNotAsked(request: FastifyRequest, { bodyMilliseconds }: EntryOptions): Promise<void> {
  const { operation } = request.routeOptions.config;
  if (operation === undefined) return;
  if (operation.access !== 'public') refuseUnknownParameters(operation.query, request.query);
  if (operation.body === undefined) await refuseBody(request.raw, bodyMilliseconds);
}

/** A ticket replaces the header only in a request that opens a stream. No other request spends it. */
function identify(request: FastifyRequest, { access, tickets }: EntryOptions): Promise<Caller | ServiceError> {
  const { authorization } = request.headers;
  const { ticket } = request.query as { ticket?: unknown };
  const isOpening = authorization === undefined && isStreamHandshake(request.raw);
  if (isOpening && ticket !== undefined) refuseRepeated({ ticket });
  const isTicket = isOpening && typeof ticket === 'string';
  return answered(isTicket ? tickets.redeem(ticket, jobIdOf(request)) : access.authenticate(authorization));
}

function spendBudget(reply: FastifyReply, rate: RateBudget, tenant: string): void {
  const decision = rate.spend(tenant);
  reply.header('ratelimit-limit', decision.limit);
  reply.header('ratelimit-remaining', decision.remaining);
  reply.header('ratelimit-reset', decision.resetSeconds);
  if (decision.allowed) return;
  const { retryAfterSeconds } = decision;
  throw new ServiceError('rate_limited', "The tenant's request budget is spent.", { retryAfterSeconds });
}

function checkScope(caller: Caller, access: Operation['access'] | undefined): void {
  const scope = SCOPES.find((candidate) => candidate === access);
  if (scope !== undefined) requireScope(caller, scope);
}

/**
 * The global metrics have their own token and never accept a tenant's credential, even if the operator set both to the
 * same text. Spec § Authentication 9.
 */
async function checkMetricsToken(request: FastifyRequest, { access, metricsToken }: EntryOptions): Promise<void> {
  if (metricsToken === null) throw noSuchRoute();
  const { authorization } = request.headers;
  const given = bearerToken(authorization ?? '');
  const refusal = new ServiceError('unauthorized', 'This route takes the metrics token and nothing else.');
  if (given === null || !timingSafeEqual(sha256(given), sha256(metricsToken))) throw refusal;
  const caller = await answered(access.authenticate(authorization));
  if (!(caller instanceof ServiceError)) throw refusal;
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Refuses a body for an operation that takes none. An empty chunked body counts as no body. RFC 9112 § 7.1. */
async function refuseBody(raw: IncomingMessage, millisecondsMax: number): Promise<void> {
  if (!hasBody(raw)) return;
  if (raw.headers['transfer-encoding'] === undefined) throw bodyNotTaken();
  await readNothing(raw, millisecondsMax);
  // From here on, the request has no body, so the media type of a body does not matter.
  delete raw.headers['transfer-encoding'];
}
