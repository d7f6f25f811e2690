/**
 * Everything that a caller can do with jobs. `http/` calls this interface. Each method checks ownership through the
 * store: another tenant's job and an unknown job both give `ServiceError('job_not_found')`. Authentication and scopes
 * were checked before.
 */
import type {
  AnyReceipt,
  CancellationAnswer,
  FilledQueryOf,
  JobDetail,
  JobEvent,
  JobList,
  LinkedJob,
  LinkPart,
  PendingStatements,
  SubmissionAnswer,
  ToolAnswerTaken,
} from '@vouchbox/protocol';
import type { Caller } from '../ground/caller.ts';
import type { JsonText } from '../ground/json-text.ts';
import type { CallsAsked, ToolCallsAnswer } from './tools/answer-calls.ts';
import type { ExactBytes } from './view/attestation.ts';
import type { PageAsked, ReplayAnswer } from './view/replay.ts';
import type { ResultAnswer, ResultWait } from './view/result.ts';

export interface Submission {
  /** The parsed JSON body, not yet validated. */
  readonly body: unknown;
  /** 1–128 visible ASCII bytes, already checked; null if the client sent none. */
  readonly idempotencyKey: string | null;
  /**
   * Called immediately before the job is stored or an earlier job is returned as the answer. Rejects if the caller's
   * authority has ended since the request arrived. Absent if the authority cannot be revoked.
   */
  readonly checkAuthority?: () => Promise<void>;
}

/** What a link says about itself. */
export interface LinkView {
  readonly shows: readonly LinkPart[];
  readonly expires_at: string;
}

export interface Jobs {
  /** Validates, clamps and stores a job. Durable when it resolves. Spec § POST /v1/jobs. */
  submit(caller: Caller, submission: Submission): Promise<{ answer: SubmissionAnswer; replayed: boolean }>;
  list(caller: Caller, query: FilledQueryOf<'listJobs'>): Promise<JsonText<JobList>>;
  detail(caller: Caller, job_id: string): Promise<JsonText<JobDetail>>;
  /** The stored receipt; null if the tenant has no such job, or the job has not ended. */
  receipt(caller: Caller, job_id: string): Promise<JsonText<AnyReceipt> | null>;
  cancel(caller: Caller, job_id: string): Promise<JsonText<CancellationAnswer>>;
  /** Waits at most `waitSeconds` for a terminal status. `signal` ends the wait early, without an answer. */
  result(caller: Caller, job_id: string, wait: ResultWait): Promise<ResultAnswer>;
  /** The parts of the job that a link shows. */
  linked(caller: Caller, job_id: string, link: LinkView): Promise<JsonText<LinkedJob>>;
  /** Whether a link shows the file with this digest: a large output of the job, or a file that was named by its digest. */
  showsBlob(caller: Caller, job_id: string, asked: Pick<LinkView, 'shows'> & { sha256: string }): Promise<boolean>;
  /** May wait for an event after the cursor. The signal ends the wait early, with an empty page. */
  replay(caller: Caller, job_id: string, page: PageAsked): Promise<ReplayAnswer>;
  /**
   * The exact bytes of the envelope or the result artifact. Refused as `attestation_disabled`, as `job_not_terminal`
   * or, for a moment after the job's end, as `attestation_unavailable`.
   */
  attestation(caller: Caller, job_id: string, part: 'envelope' | 'result_artifact'): Promise<ExactBytes>;
  /** The proof that the log has the job's envelope. Refused as `not_logged`, or for a moment as `log_proof_unavailable`. */
  logProof(caller: Caller, job_id: string): Promise<ExactBytes>;
  /**
   * The exact bytes of the signed promise, after at most `waitSeconds`. Refused as `not_promised`, or as `promise_unavailable`
   * until the promise is signed.
   */
  promise(caller: Caller, job_id: string, wait: { waitSeconds: number; signal: AbortSignal }): Promise<ExactBytes>;
  /** The logged statements that a promised job is still waiting. Refused as `not_promised`. */
  pending(caller: Caller, job_id: string): Promise<PendingStatements>;
  /** The envelope of the canary that the job's own envelope names. Refused as `canary_not_found`, or like `attestation`. */
  canary(caller: Caller, job_id: string): Promise<ExactBytes>;
  /** The tool calls that this caller may answer. May wait for a call, like `replay` for an event. */
  toolCalls(caller: Caller, job_id: string, asked: CallsAsked): Promise<ToolCallsAnswer>;
  /** Checks and stores an answer to a call. The answer is on disk when this resolves. */
  answerToolCall(
    caller: Caller,
    job_id: string,
    answered: { readonly seq: number; readonly answer: unknown },
  ): Promise<ToolAnswerTaken>;
  /** Whether this caller may answer calls of a job that has not ended. */
  answersTools(caller: Caller, job_id: string): Promise<boolean>;
  /** Pages of stored events after a cursor, then of live events. Ends after `finished`, or when `signal` aborts. */
  tail(
    caller: Caller,
    job_id: string,
    from: { after: number; signal: AbortSignal },
  ): AsyncIterable<readonly JsonText<JobEvent>[]>;
}
