/** Parameters of the calls about jobs, and members of a submission. */
import type { JobStatus, Language, SubmissionAnswer, SubmissionInclude } from './contract-types.ts';
import type { JobPromise, PromiseWish } from './job-promise.ts';
import type { ProgramOptions } from './submission.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends CallOptions, ProgramOptions {
  /**
   * 1–128 visible ASCII bytes; random if left out, so that every submission can be repeated. With null, no key is sent: then the
   * submission is made only once, and if the answer is lost, nobody knows whether a job exists.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** Seconds (0–300) that the service waits for the result, if its features name `submission_wait`. */
  readonly waitSeconds?: number | undefined;
  /** Further members to request in the answer, if the service's features name `submission_include`. */
  readonly include?: readonly Exclude<SubmissionInclude, 'promise'>[] | undefined;
  /**
   * Whether to ask for a promise and keep it, if the service's features name `job_promises`. With `waitSeconds`, the answer has
   * the promise; otherwise the client fetches it. With `required`, the submission fails if there is no promise.
   */
  readonly promise?: PromiseWish | undefined;
}

/** A stored job. `result` is there if the service waited for it and the job ended in time. */
export interface Submitted extends Omit<SubmissionAnswer, 'promise'> {
  /** Whether the key already belonged to this job. */
  readonly replayed: boolean;
  /** The key that was sent; null if no key was sent. */
  readonly idempotencyKey: string | null;
  /** The promise; null if none was asked for or none came. */
  readonly promise: JobPromise | null;
}

/** A page of at most `limit` jobs with these statuses and this language. `cursor` is the previous page's `next_cursor`. */
export interface ListOptions extends CallOptions {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly status?: readonly JobStatus[] | undefined;
  readonly language?: Language | undefined;
  /** Only jobs that have this label. */
  readonly label?: string | undefined;
}

/** A page of at most `limit` events. `after` is the last sequence number already seen. */
export interface ReplayOptions extends CallOptions {
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
  /** Seconds (0–300) that the service waits for an event, if its features name `replay_wait`. */
  readonly waitSeconds?: number | undefined;
  /** Further members to request in the last page, if the service's features name `replay_include`. */
  readonly include?: readonly ('result' | 'receipt')[] | undefined;
}

export interface WaitOptions extends CallOptions {
  /** Seconds to wait in total; without a limit if left out. With 0, a single request asks whether the end has come. */
  readonly timeoutSeconds?: number | undefined;
  /** Seconds that one request waits, at most 300. The default is 50, because many proxies cut an exchange at 60. */
  readonly waitSeconds?: number | undefined;
}
