/** The promise of a job: how a call requests it, and what the call returns. */

/** A signed promise: the bytes of its envelope as they were served, and its content. */
export interface JobPromise {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Lower-case hex: the checked digest of exactly these bytes. */
  readonly sha256: string;
  readonly mediaType: string;
  readonly job_id: string;
  readonly tenant: string;
  /** The number of the job in its tenant; null if the service does not state it. */
  readonly tenant_job_number: number | null;
  readonly accepted_at: string;
  /** The time by which the log has the result, or else a pending statement: it says that the job still waits. */
  readonly answer_by: string;
  readonly log_origin: string;
  readonly log_key: string;
}

/** Whether a run or a submission fetches its promise, and whether it fails without a promise. */
export type PromiseWish = boolean | 'required';
