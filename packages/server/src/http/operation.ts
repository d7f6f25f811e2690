/** Which operation of the contract a route is, and what a request of it carries from hook to handler. */
import type { Operation, OperationId } from '@svc/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../ground/caller.ts';
import type { Soon } from '../ground/soon.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent where no operation was found. */
    operation?: Operation;
  }
  interface FastifyRequest {
    /** Who asks; null on public operations. */
    caller: Caller | null;
  }
}

export type OperationHandler = (request: FastifyRequest, reply: FastifyReply) => Soon<FastifyReply>;

/** A handler for every operation of the contract: one that is missing does not compile. */
export type OperationHandlers = { readonly [Id in OperationId]: OperationHandler };

/** Who asks, in an operation that is not public. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('a handler of a public operation asked for the caller');
  return request.caller;
}
