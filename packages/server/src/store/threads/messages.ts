/** The messages between the service's thread and the store's threads, and the form of errors in them. */
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/**
 * How much of a store is checked when it is opened. `quick` reads every page of its file. `full` also compares the indexes with
 * their tables, follows every reference, and recomputes every chain and every receipt. A database server looks after its own
 * files: for a store on a server, `quick` checks nothing, and `full` recomputes the chains and the receipts.
 */
export type StoreCheck = 'off' | 'quick' | 'full';

/** The data that a thread of the store is started with. */
export interface ThreadData {
  /** The absolute path of the file, or the URL of the database. */
  readonly place: string;
  /** How much is checked before the store is used. */
  readonly check: StoreCheck;
  /** The service that opens the store, in a store that several processes share. Null for a command of an operator. */
  readonly instance?: string | null;
}

/** One command and its place among the calls of this channel. */
export interface Call {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

/** Requests to a thread: first to open the store, then calls in their order, and last to end when all calls are answered. */
export type Request =
  | { readonly kind: 'open' }
  | { readonly kind: 'calls'; readonly calls: readonly Call[] }
  | { readonly kind: 'close' };

export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PortableError };

/** Reports from a thread. `open` or `failed` comes first. When the thread ends, its port closes. */
export type Report =
  | { readonly kind: 'open'; readonly names: readonly string[] }
  | { readonly kind: 'failed'; readonly error: PortableError }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }
  | { readonly kind: 'problem'; readonly error: PortableError };

/** An error as plain data: cloning an `Error` would lose its code. */
export interface PortableError {
  readonly code: StoreErrorCode;
  readonly message: string;
  /** The stack of the original error, for the log. */
  readonly stack: string;
}

export function portable({ code, message, cause, stack }: StoreError): PortableError {
  const origin = cause instanceof Error ? cause.stack : stack;
  return { code, message, stack: origin ?? message };
}

/** The answers to calls that are refused for one reason. */
export function refuse(calls: readonly Call[], error: StoreError): Answer[] {
  return calls.map(({ id }) => ({ id, error: portable(error) }));
}

/** The error as it is thrown on the service's thread. Its cause has the stack from the store's thread. */
export function revived({ code, message, stack }: PortableError): StoreError {
  const cause = new Error(message);
  cause.stack = stack;
  return new StoreError(code, message, { cause });
}
