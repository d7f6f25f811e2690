/** The messages between the service's thread and the store's threads, and how they carry errors. */
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/**
 * What is checked when a store is opened. `quick` reads every page of the store's file. `full` also compares the indexes with
 * their tables, follows every reference, and recomputes every chain and every receipt. A database server looks after its own
 * files: for a store on a server, `quick` checks nothing, and `full` recomputes the chains and the receipts.
 */
export type StoreCheck = 'off' | 'quick' | 'full';

/** What a store thread is given when it is started. */
export interface ThreadData {
  /** The absolute path of the file, or the URL of the database. */
  readonly place: string;
  /** What is checked before the store is used. */
  readonly check: StoreCheck;
  /** For a store that several processes share: the service that opens the store. Null for an operator's command. */
  readonly instance?: string | null;
}

/** One command, and the number of the call on its channel. */
export interface Call {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

/** Requests to a thread: first to open the store, then calls in order, and last to end once all calls are answered. */
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

/** The error to throw on the service's thread. Its cause has the stack from the store's thread. */
export function revived({ code, message, stack }: PortableError): StoreError {
  const cause = new Error(message);
  cause.stack = stack;
  return new StoreError(code, message, { cause });
}
