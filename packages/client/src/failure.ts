/**
 * The ways in which a call can fail: the service refused the call with its error envelope, no usable answer came, or the
 * records contradict each other. Callers tell the failures apart by class, and act on `code`, `reason` and `check`, never
 * on the text of a message.
 */
import type { ErrorCode } from './contract-types.ts';
import type { JobPromise } from './job-promise.ts';

export interface ServiceFailureFields {
  readonly code: ErrorCode | (string & {});
  readonly status: number;
  readonly retryable: boolean;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
}

/** A structured refusal by the service. Spec § Errors: status and code are authoritative. */
export class ServiceFailure extends Error implements ServiceFailureFields {
  /** A code from the contract, or one that a newer service added. */
  declare readonly code: ErrorCode | (string & {});
  declare readonly status: number;
  /** Whether the same request may succeed later. */
  declare readonly retryable: boolean;
  /** The id by which an operator finds the request. */
  declare readonly requestId: string | null;
  /** The seconds in `Retry-After`; null if the service sent none. */
  declare readonly retryAfterSeconds: number | null;
  /** The job that was accepted before a run failed; null if no job was accepted, and for calls other than runs. */
  job_id: string | null = null;
  /** The grading that was accepted before `grade` failed; null if none was accepted, and for other calls. */
  grading_id: string | null = null;
  /** The promise of the accepted job, if it was fetched. */
  promise: JobPromise | null = null;

  constructor(message: string, fields: ServiceFailureFields) {
    super(message);
    Object.assign(this, { name: 'ServiceFailure', ...fields });
  }
}

/**
 * - `network`: no answer, or the connection ended inside it
 * - `timeout`: no answer within the request's deadline
 * - `truncated`: fewer or more bytes than the declared `Content-Length`, or a file whose pieces broke off
 * - `undecodable`: a body that is not the expected JSON
 * - `unstructured`: an HTTP error without the service's envelope, for example from a proxy or an older server
 * - `digest`: exact bytes whose `X-Content-Sha256` is missing, malformed or different from the bytes' digest
 */
export type TransportFailureReason = 'network' | 'timeout' | 'truncated' | 'undecodable' | 'unstructured' | 'digest';

interface TransportFailureOptions extends ErrorOptions {
  readonly status?: number | null;
  readonly retryAfterSeconds?: number | null;
}

/** No usable answer came. Whether the service acted on the request is unknown. */
export class TransportFailure extends Error {
  declare readonly reason: TransportFailureReason;
  /** The HTTP status, if there was one. */
  declare readonly status: number | null;
  /** The seconds in `Retry-After`, if there was such a header. Proxies send it, too. */
  declare readonly retryAfterSeconds: number | null;
  /** The job that was accepted before a run failed; null if no job was accepted, and for calls other than runs. */
  job_id: string | null = null;
  /** The grading that was accepted before `grade` failed; null if none was accepted, and for other calls. */
  grading_id: string | null = null;
  /** The promise of the accepted job, if it was fetched. */
  promise: JobPromise | null = null;

  constructor(reason: TransportFailureReason, message: string, options: TransportFailureOptions = {}) {
    super(message, options);
    const { status = null, retryAfterSeconds = null } = options;
    Object.assign(this, { name: 'TransportFailure', reason, status, retryAfterSeconds });
  }
}

/**
 * The part that is wrong. In a job's record, it is the receipt, the end, the output, the files, their workspace, or the event
 * `seq` in the chain. Elsewhere, it is a job's promise, or the calls of a run that replays a transcript.
 */
export type EvidenceCheck =
  | 'receipt'
  | 'chain_summary'
  | 'finished'
  | 'output'
  | 'artifacts'
  | 'workspace'
  | 'transcript'
  | 'promise'
  | 'sequence'
  | 'job'
  | 'hash_version'
  | 'link'
  | 'digest';

/** Recorded evidence contradicts itself, or differs from what was expected. */
export class EvidenceFailure extends Error {
  declare readonly check: EvidenceCheck;
  /** The number of the first wrong event; null if the failure is not about an event. */
  declare readonly seq: number | null;
  /** The job that was accepted before a run failed; null if no job was accepted, and for calls other than runs. */
  job_id: string | null = null;
  /** The promise of the accepted job, if it was fetched. */
  promise: JobPromise | null = null;

  constructor(check: EvidenceCheck, message: string, seq: number | null = null) {
    super(message);
    Object.assign(this, { name: 'EvidenceFailure', check, seq });
  }
}

/** @throws EvidenceFailure always */
export function refuse(check: EvidenceCheck, message: string, seq?: number): never {
  throw new EvidenceFailure(check, message, seq);
}

/** Whether the error means that the service is away, for example during a restart, or that a wait's `timeoutSeconds` are over. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof ServiceFailure || error instanceof TransportFailure)) return false;
  const { reason, status } = error as Partial<TransportFailure>;
  return reason === 'network' || reason === 'timeout' || [502, 503, 504].includes(status ?? 0);
}
