/**
 * How a server older than v0.4 is recognised, and which of its bodies differ. Such a server answers a request for an unknown path
 * without the error envelope. A structured refusal never means that a server is older. Spec § Versioning 5, § Errors.
 */
import type { JobDetail, Receipt } from './contract-types.ts';
import { TransportFailure } from './failure.ts';

/** Whether a server answered, without the error envelope, that it has no such route. */
export function isRouteMissing(error: unknown): error is TransportFailure {
  const isUnstructured = error instanceof TransportFailure && error.reason === 'unstructured';
  return isUnstructured && [404, 405, 501].includes(error.status ?? 0);
}

/** An error that says what an older server cannot give. */
export function tooOld(what: string, cause: TransportFailure): TransportFailure {
  const { status } = cause;
  return new TransportFailure('unstructured', `this server is older than v0.4: ${what}`, { status, cause });
}

/** Makes a request of v0.4, or uses the fallback if the server is older. */
export async function orOlder<T>(asked: Promise<T>, standIn: (missing: TransportFailure) => Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (isRouteMissing(error)) return await standIn(error);
    throw error;
  }
}

/** A receipt from v0.3. It may lack the tenant. */
export type LegacyReceipt = Omit<Receipt, 'tenant'> & Partial<Pick<Receipt, 'tenant'>>;

/** The detail of a job whose receipt was sealed by a v0.3 server. */
export type LegacyJobDetail = Omit<JobDetail, 'receipt'> & { readonly receipt: LegacyReceipt | null };
