/** A promise as calls ask for it and give it. */

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
  /** The time by which the log has the result, or a statement that the job waits. */
  readonly answer_by: string;
  readonly log_origin: string;
  readonly log_key: string;
}

/** Whether a run or a submission fetches its promise, or fails without one. */
export type PromiseWish = boolean | 'required';
