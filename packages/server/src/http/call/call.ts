/**
 * One request of an operation, in the contract's types: its query, the permits it may take, and its caller. A handler
 * does not compile if it uses a part that its operation does not list; `respond.ts` does the same for answers.
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

/** The permits and bounds of calls. */
export interface CallContext {
  readonly permits: Permits;
  readonly authority: AuthorityWatch;
  /** Aborted once the service is stopping: new work is refused and waits end with `shutting_down`. */
  readonly stopping: AbortSignal;
  readonly bounds: TransportBounds;
}

/** The caller, in an operation that is not public. */
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
   * @throws ServiceError `invalid_request` naming the first wrong parameter, `insufficient_scope` naming the scope that
   * one of the parameters needs
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
   * Reserves a permit. If another tenant needs the place, `giveWay` ends what the permit admits.
   *
   * @throws ServiceError if no such permit is free
   */
  reserve<Kind extends PermitKind>(this: Call<HolderOf<Kind>>, kind: Kind, giveWay: GiveWay): Reservation {
    return this.context.permits.reserve(kind, callerOf(this.request).tenant, giveWay);
  }

  /**
   * Reserves a permit that the answer holds to its end, unless the permit is returned before. Without `giveWay`, the connection
   * is reset when another tenant needs the place, as for an answer that is being sent.
   *
   * @throws ServiceError if none is free
   */
  hold<Kind extends PermitKind>(this: Call<HolderOf<Kind>>, kind: Kind, giveWay: GiveWay = this.#reset): Reservation {
    const permit = this.reserve(kind, giveWay);
    if (kind === 'response') this.#answer = permit;
    onAnswerEnd(this.reply.raw, () => permit[Symbol.dispose]());
    return permit;
  }

  /**
   * Holds a permit for a long answer. When the caller's authority ends, `onEnded` is called; by default, it ends the
   * connection of the answer. Spec § Response transfer rules.
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

  /** Claims the permit of this answer, if it has one: see `claimFor`. @throws ServiceError if no place is free */
  claimFor(answer: { readonly bytes: number }): void {
    if (this.#answer !== null) claimFor(this.#answer, this.request, answer);
  }
}

/**
 * Claims the permit of an answer that is long. A short answer, and one without a body, are sent at once and need no place.
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

/** A handler for each of these operations: a missing one does not compile. */
export type Handlers<Ids extends OperationId = OperationId> = { readonly [Id in Ids]: Handler<Id> };

/**
 * Refuses new work once the service is stopping, before anything is taken or read for it.
 *
 * @throws ServiceError `shutting_down`
 */
export function refuseWhenStopping({ context }: Call<RefusedWith<'shutting_down'>>): void {
  if (context.stopping.aborted) throw shuttingDown();
}
