/** A job's promise: how a call requests one, and what the call returns. */

/** A signed promise: the bytes of its envelope, exactly as they were served, and its content. */
export interface JobPromise {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Lower-case hex: the checked digest of exactly these bytes. */
  readonly sha256: string;
  readonly mediaType: string;
  readonly job_id: string;
  readonly tenant: string;
  /** The job's number within its tenant; null if the service does not state the number. */
  readonly tenant_job_number: number | null;
  readonly accepted_at: string;
  /** The time by which the log has either the result or a pending statement, which says that the job still waits. */
  readonly answer_by: string;
  readonly log_origin: string;
  readonly log_key: string;
}

/** Whether a run or a submission fetches its promise. With `required`, the call fails if there is no promise. */
export type PromiseWish = boolean | 'required';
