/** Promises as the store keeps them. docs/decisions/0066. */
import type { JobPromiseTable, LogPendingTable } from '../schema.ts';
import type { JobKey } from './rows.ts';

/** The contents of a promise that waits for its signature. */
export interface UnsignedPromise extends JobKey {
  readonly created_at: string;
  readonly answer_by: string;
  /** The job's number among its tenant's jobs; null if the statements do not contain it. */
  readonly tenant_number: number | null;
  /** The facts about the submission that the receipt will have: JSON. */
  readonly evidence: string;
}

export interface SignedPromise extends JobKey {
  readonly key_id: string;
  readonly envelope: Uint8Array;
}

/** A pending statement about a job, before it is signed. */
export interface UnsignedPending
  extends JobKey,
    Readonly<Pick<LogPendingTable, 'statement' | 'stated_at' | 'answer_by' | 'salt'>> {
  readonly tenant_number: number | null;
  /** The envelope of the promise. */
  readonly promise: Uint8Array;
}

export interface SignedPending extends SignedPromise, Pick<UnsignedPending, 'statement'> {
  readonly leaf_hash: Uint8Array;
}

/** A promise as it is served; `envelope` and `key_id` are null until it is signed. */
export type PromiseRow = Readonly<Pick<JobPromiseTable, 'envelope' | 'key_id'>>;

/** A signed pending statement about a job; `position` is null until the statement has its place in the log. */
export interface PendingRow extends Pick<UnsignedPending, 'stated_at' | 'answer_by'> {
  readonly envelope: Uint8Array;
  readonly position: number | null;
}
