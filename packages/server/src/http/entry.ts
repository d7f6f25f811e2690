/**
 * What every request passes before its handler: who asks, whether the tenant's budget allows it, whether the credential
 * may do it. In this order, and all of it before a byte of a body is read.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { type Operation, SCOPES } from '@svc/protocol';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type Access, bearerToken } from '../access/authenticate.ts';
import type { Tickets } from '../access/tickets.ts';
import type { Caller } from '../caller.ts';
import type { RateBudget } from '../capacity/rate.ts';
import { answeredSoon } from '../job/answered.ts';
import { ServiceError } from '../service-error.ts';
import { type Soon, whenKnown } from '../soon.ts';
import type { AuthorityWatch } from './authority.ts';
import type { Connections } from './connections.ts';
import { isStreamHandshake } from './handshake.ts';
import { jobIdOf } from './job-id.ts';
import { PLAIN_HEADERS } from './refusal.ts';
import { hasBody } from './unread-body.ts';

export interface EntryOptions {
  readonly access: Access;
  readonly tickets: Tickets;
  readonly rate: RateBudget;
  /** Null where the operator set none: then the operation does not exist. */
  readonly metricsToken: string | null;
  /** Told whose connection it is that a request came on. */
  readonly authority: Pick<AuthorityWatch, 'hold' | 'release'>;
  /** Aborted once the service is stopping. */
  readonly stopping: AbortSignal;
  /** Told whose live credential a connection has shown. */
  readonly connections: Pick<Connections, 'recognize'>;
}

type EntryHook = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
) => Promise<undefined> | undefined;

/** The hook. It throws the refusal, or rejects with it. */
export function entryHook(options: EntryOptions): EntryHook {
  return (request, reply, done) => {
    const entered = enter(request, reply, options);
    if (entered instanceof Promise) return entered;
    done();
    return undefined;
  };
}

/** Throws the refusal or rejects with it. */
function enter(request: FastifyRequest, reply: FastifyReply, options: EntryOptions): Soon<undefined> {
  reply.header('x-request-id', request.id).headers(PLAIN_HEADERS);
  if (options.stopping.aborted || isStreamHandshake(request.raw)) reply.header('connection', 'close');
  const { operation } = request.routeOptions.config;
  if (operation === undefined) return undefined;
  if (operation.access === 'public') return refuseWhatIsNotAsked(request, operation);
  if (operation.access === 'metrics_token') {
    checkMetricsToken(request, options.metricsToken);
    return refuseWhatIsNotAsked(request, operation);
  }
  return whenKnown(identify(request, operation, options), (caller) => {
    if (caller instanceof ServiceError) throw caller;
    request.caller = caller;
    options.connections.recognize(request.raw.socket, caller.tenant);
    if (isStreamHandshake(request.raw)) options.authority.release(request.raw.socket);
    else options.authority.hold(request.raw.socket, caller);
    spendBudget(reply, options.rate, caller.tenant);
    checkScope(caller, operation.access);
    return refuseWhatIsNotAsked(request, operation);
  });
}

function refuseWhatIsNotAsked(request: FastifyRequest, operation: Operation): undefined {
  if (operation.access !== 'public') refuseUnknownQuery(request, operation);
  if (operation.method !== 'POST') refuseBody(request);
}

/** A ticket stands in for the header only where a stream is really opened: nothing else spends it. */
function identify(
  request: FastifyRequest,
  operation: Operation,
  { access, tickets }: Pick<EntryOptions, 'access' | 'tickets'>,
): Soon<Caller | ServiceError> {
  const { authorization } = request.headers;
  const { ticket } = request.query as { ticket?: unknown };
  const isTicket = operation.ticket === true && typeof ticket === 'string' && authorization === undefined;
  const caller =
    isTicket && isStreamHandshake(request.raw)
      ? tickets.redeem(ticket, jobIdOf(request))
      : access.authenticate(authorization);
  return answeredSoon(caller);
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

function checkScope(caller: Caller, access: Operation['access']): void {
  const scope = SCOPES.find((candidate) => candidate === access);
  if (scope === undefined || caller.scopes.includes(scope)) return;
  throw new ServiceError('insufficient_scope', `The credential lacks the scope "${scope}".`);
}

/** The global metrics have a token of their own, which no tenant credential replaces. Spec § Authentication 9. */
function checkMetricsToken(request: FastifyRequest, metricsToken: string | null): void {
  if (metricsToken === null) throw new ServiceError('route_not_found', 'No such route.');
  const given = bearerToken(request.headers.authorization ?? '');
  if (given !== null && timingSafeEqual(sha256(given), sha256(metricsToken))) return;
  throw new ServiceError('unauthorized', 'This route takes the metrics token and nothing else.');
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

function refuseUnknownQuery(request: FastifyRequest, operation: Operation): void {
  const known = operation.query?.properties ?? {};
  const unknown = Object.keys(request.query as object).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new ServiceError('invalid_request', `The query parameter ${JSON.stringify(unknown)} is not known here.`);
}

function refuseBody({ raw }: FastifyRequest): void {
  if (hasBody(raw)) throw new ServiceError('invalid_request', 'This operation takes no body.');
}
