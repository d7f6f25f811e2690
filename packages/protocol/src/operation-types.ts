/** The table of operations as types: the query, body, answers, permits and refusals of each operation. */
import type { OperationId } from './endpoints.ts';
import type { ErrorCode } from './errors.ts';
import type { Capacity } from './operation.ts';
import type { OPERATIONS } from './operations.ts';
import type { Filled } from './queries.ts';
import type { Static, TObject, TSchema } from './type.ts';

type Table = typeof OPERATIONS;
type AnswersOf<Id extends OperationId> = Table[Id]['answers'];

/** The statuses with which an operation can succeed. */
export type StatusOf<Id extends OperationId> = keyof AnswersOf<Id> & number;

type AnswerOf<Id extends OperationId, Status> = AnswersOf<Id>[Status & keyof AnswersOf<Id>];
type JsonContent<A> = A extends { content: { 'application/json': infer S extends TSchema } } ? Static<S> : never;
type ContentOf<A> = A extends { content: infer Content } ? keyof Content & string : never;
type ListedHeaders<A> = A extends { headers: readonly (infer Name extends string)[] } ? Name : never;

/** The JSON body of an operation's success; `never` if it answers something other than JSON. */
export type AnswerBody<Id extends OperationId, Status = StatusOf<Id>> = JsonContent<AnswerOf<Id, Status>>;

/** The media types of an operation's answers. */
export type MediaTypeOf<Id extends OperationId, Status = StatusOf<Id>> = ContentOf<AnswerOf<Id, Status>>;

/** The headers of an answer beyond those that every answer has. */
export type AnswerHeaderOf<Id extends OperationId, Status = StatusOf<Id>> = ListedHeaders<AnswerOf<Id, Status>>;

/** An operation's query as a client gives it. */
export type QueryOf<Id extends OperationId> = Table[Id] extends { query: infer S extends TObject } ? Static<S> : never;

/** An operation's query as a route reads it: missing members have their defaults. */
export type FilledQueryOf<Id extends OperationId> = Table[Id] extends { query: infer S extends TObject }
  ? Filled<S>
  : never;

/** The body that an operation takes, as a client gives it. */
export type BodyOf<Id extends OperationId> = Table[Id] extends { body: { schema: infer S extends TSchema } }
  ? Static<S>
  : never;

/** The operations for which the condition is true. */
type Where<Condition extends Record<OperationId, boolean>> = {
  [Id in OperationId]: Condition[Id] extends true ? Id : never;
}[OperationId];

/** The operations that need a credential of a caller. */
export type CallerOperationId = Where<{
  [Id in OperationId]: Table[Id]['access'] extends 'public' | 'metrics_token' ? false : true;
}>;

/** The operations that take a body: an optional body if `IsOptional` is true, a required one if it is false. */
export type BodyOperationId<IsOptional extends boolean = boolean> = Where<{
  [Id in OperationId]: Table[Id] extends { body: { isOptional: IsOptional } } ? true : false;
}>;

/** The operations whose requests may hold a permit of this kind. */
export type HolderOf<Kind extends Capacity> = Where<{
  [Id in OperationId]: Kind extends Table[Id]['capacity'][number] ? true : false;
}>;

/** The operations that may be refused with this code. */
export type RefusedWith<Code extends ErrorCode> = Where<{
  [Id in OperationId]: Code extends Table[Id]['errors'][number] ? true : false;
}>;
