/**
 * One request for an operation, in the contract's types: its query, the permits that it may take, and its caller. A
 * handler does not compile if it uses a part that its operation does not list. `respond.ts` does the same for answers.
 */
import {
  type CallerOperationId,
  type FilledQueryOf,
  type HolderOf,
  type JobOperationId,
  OPERATIONS,
  type Operation,
  type OperationId,
  operationOf,
  type RefusedWith,
  responsePumpBytes,
} from '@vouchbox/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GiveWay, PermitKind, Permits, Reservation } from '../../capacity/permits.ts';
import { type Caller, requireScope } from '../../ground/caller.ts';
import { shuttingDown } from '../../job/refusals.ts';
import { onAnswerEnd } from '../answer/answer-end.ts';
import { resetConnection } from '../connections/connection.ts';
import type { TransportBounds } from '../connections/transport.ts';
import { jobIdOf } from '../request/path-id.ts';
import { readQuery } from '../request/query.ts';
import type { AuthorityWatch } from '../stream/authority.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent if no operation was found. */
    operation?: Operation;
  }
  interface FastifyRequest {
    /** The caller; null on public operations. */
    caller: Caller | null;
  }
}

/** The permits and bounds that apply to calls. */
export interface CallContext {
  readonly permits: Permits;
  readonly authority: AuthorityWatch;
  /** Aborted once the service is stopping. New work is then refused, and waits end with `shutting_down`. */
  readonly stopping: AbortSignal;
  readonly bounds: TransportBounds;
}

/** The caller. Only for operations that are not public. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('a handler of a public operation asked for the caller');
  return request.caller;
}

export class Call<Id extends OperationId> {
  readonly id: Id;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly context: CallContext;
  #answer: Reservation | null = null;

  constructor(id: Id, reply: FastifyReply, context: CallContext) {
    this.id = id;
    this.request = reply.request;
    this.reply = reply;
    this.context = context;
  }

  readonly #reset = (): void => resetConnection(this.request.raw.socket);

  get operation(): (typeof OPERATIONS)[Id] {
    return OPERATIONS[this.id];
  }

  get caller(): Id extends CallerOperationId ? Caller : never {
    return callerOf(this.request) as Id extends CallerOperationId ? Caller : never;
  }

  /** @throws ServiceError as `jobIdOf` does. */
  get job_id(): Id extends JobOperationId ? string : never {
    return jobIdOf(this.request) as Id extends JobOperationId ? string : never;
  }

  /**
   * @throws ServiceError `invalid_request` that names the first wrong parameter, or `insufficient_scope` that names the
   * scope that one of the parameters needs
   */
  readQuery(): FilledQueryOf<Id> {
    const { query, queryAccess = {} } = operationOf(this.id);
    if (query === undefined) throw new Error(`the operation ${this.id} has no query`);
    const filled: Readonly<Record<string, unknown>> = readQuery(query, this.request.query);
    for (const [name, scope] of Object.entries(queryAccess)) {
      const { default: plain } = query.properties[name] as { readonly default?: unknown };
      if (filled[name] !== plain) requireScope(callerOf(this.request), scope, ` for "${name}"`);
    }
    return filled as FilledQueryOf<Id>;
  }

  /**
   * Reserves a permit. If another tenant needs the place, `giveWay` ends the work that holds the permit.
   *
   * @throws ServiceError if no such permit is free
   */
  reserve<Kind extends PermitKind>(this: Call<HolderOf<Kind>>, kind: Kind, giveWay: GiveWay): Reservation {
    return this.context.permits.reserve(kind, callerOf(this.request).tenant, giveWay);
  }

  /**
   * Reserves a permit that the answer holds to its end, unless it is returned earlier. If another tenant needs the place,
   * `giveWay` is called. By default, `giveWay` resets the connection, as is right for an answer that is being sent.
   *
   * @throws ServiceError if no such permit is free
   */
  hold<Kind extends PermitKind>(this: Call<HolderOf<Kind>>, kind: Kind, giveWay: GiveWay = this.#reset): Reservation {
    const permit = this.reserve(kind, giveWay);
    if (kind === 'response') this.#answer = permit;
    onAnswerEnd(this.reply.raw, () => permit[Symbol.dispose]());
    return permit;
  }

  /**
   * Holds a permit for a long answer. When the caller's authority ends, `onEnded` is called. By default, `onEnded` ends
   * the answer's connection. Spec § Response transfer rules.
   *
   * @throws ServiceError if none is free
   */
  holdWatched<Kind extends PermitKind>(
    this: Call<HolderOf<Kind>>,
    kind: Kind,
    giveWay: GiveWay = this.#reset,
    onEnded: () => void = this.#reset,
  ): Reservation {
    const permit = this.hold(kind, giveWay);
    onAnswerEnd(this.reply.raw, this.context.authority.watch(callerOf(this.request), onEnded));
    return permit;
  }

  /** Claims this answer's permit, if it has one: see `claimFor`. @throws ServiceError if no place is free */
  claimFor(answer: { readonly bytes: number }): void {
    if (this.#answer !== null) claimFor(this.#answer, this.request, answer);
  }
}

/**
 * Claims the permit for a long answer. A short answer, or one without a body, is sent at once and needs no place.
 *
 * @throws ServiceError if no place is free
 */
export function claimFor(
  permit: Reservation,
  { method }: Pick<FastifyRequest, 'method'>,
  { bytes }: { readonly bytes: number },
): void {
  if (bytes > responsePumpBytes && method !== 'HEAD') permit.claim();
}

export type Handler<Id extends OperationId> = (call: Call<Id>) => Promise<FastifyReply> | FastifyReply;

/** A handler for each of these operations. The code does not compile if one is missing. */
export type Handlers<Ids extends OperationId = OperationId> = { readonly [Id in Ids]: Handler<Id> };

/**
 * Refuses new work once the service is stopping, before a permit is taken or a body is read for it.
 *
 * @throws ServiceError `shutting_down`
 */
export function refuseWhenStopping({ context }: Call<RefusedWith<'shutting_down'>>): void {
  if (context.stopping.aborted) throw shuttingDown();
}
