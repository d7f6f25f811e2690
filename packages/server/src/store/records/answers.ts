/** The store's answers: the results of its operations. They cross threads, so they are plain data. */
import type {
  FoldedResult,
  JobEvent,
  JobListItem,
  Language,
  OpenToolCall,
  Session,
  Violation,
} from '@vouchbox/protocol';
import type { JsonText } from '../../ground/json-text.ts';
import type { JobTable, ReceiptTable } from '../schema.ts';
import type {
  AttestationRow,
  JobKey,
  JobSummary,
  ListPlace,
  QueuedJob,
  StoredEvent,
  StoredObject,
  StoredRun,
} from './rows.ts';

/** What the answer to a submission says of its job. */
export type AcceptedJob = Pick<JobSummary, 'job_id' | 'created_at'>;

/** The result of an admission, decided and stored in one transaction. `full` says whose bound was reached. */
export type AdmitResult =
  | { readonly kind: 'created'; readonly job: AcceptedJob }
  /** `peer` is the interactor's job, if the first submission had one. */
  | { readonly kind: 'replayed'; readonly job: AcceptedJob; readonly peer: string | null }
  | { readonly kind: 'key_reused' }
  /** The grading that makes the job has ended, or is to end. */
  | { readonly kind: 'grading_over' }
  /** The tenant does not have one of the blobs that the submission names. */
  | { readonly kind: 'blob_unavailable' }
  /** The session is at another step; `found` is null if the principal has no session of this name. */
  | { readonly kind: 'session_conflict'; readonly found: Session | null }
  /** `kept blobs` means that there would be no room even if all jobs that have not ended gave back their room. */
  | { readonly kind: 'full'; readonly of: 'queue' | 'tenant' | 'blobs' | 'kept blobs' | 'sessions' };

/** A chosen job, with the JSON text of its submission; null if the submission is too long and must be read separately. */
export interface ChosenJob extends QueuedJob {
  readonly requested_spec: string | null;
  /** The interactor's job; absent if the chosen job is not one of a pair. */
  readonly peer?: ChosenJob;
}

export interface QueueAnswer {
  /** The jobs in the order in which they should run. */
  readonly jobs: readonly ChosenJob[];
  /** Whether the queue has only these jobs and those that the caller has already taken. */
  readonly isEmpty: boolean;
  /** Two of the tenants that ever submitted a job; fewer if there are not two. */
  readonly tenants: readonly string[];
}

/** The end of a job, in the detail that its grading needs. */
export interface GradedJobEnd {
  readonly terminal_reason: string | null;
  readonly exit_code: number | null;
  readonly truncated: boolean;
  /** The receipt; null until the job has ended. */
  readonly receipt_json: string | null;
  readonly receipt_sha256: string | null;
}

/** A message to other nodes, which a change of the store sends behind its commit. */
export interface Message {
  readonly channel: string;
  readonly payload: string;
  /** The store's key, under which `added` is sealed. */
  readonly key: string;
  readonly added?: Added | null;
}

/**
 * What a change added to a job: a node that follows the job has this from the message, and need not read it. A later version may
 * add members, but change none.
 */
export interface Added extends JobKey {
  readonly events: readonly StoredEvent[];
  readonly answer?: GivenAnswer;
}

/** Whether events were stored, and the events that followers get without a read; null if followers must read them. */
export interface AppendAnswer {
  readonly isStored: boolean;
  readonly tells?: readonly Message[];
  readonly toFollow: readonly StoredEvent[] | null;
}

/** Whether the end was stored, the JSON text of the job's folded result if it is short, and the end if it is awaited. */
export interface FinishAnswer {
  readonly isStored: boolean;
  readonly result: JsonText<FoldedResult> | null;
  readonly end: GradedJobEnd | null;
}

/** The result of a cancellation. `peer`, if any, is the pair's other job: cancelled, too, unless it had ended. */
export type CancelResult =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'already_terminal' }
  /** The job was queued, and is terminal now: its receipt, its `finished` event and its outbox row were written, too. */
  | { readonly kind: 'cancelled'; readonly peer?: string }
  /** The job runs. The request is recorded, and the dispatcher of the job's node must be told. */
  | { readonly kind: 'running'; readonly peer?: string; readonly node: number | null };

export type ToolAnswerResult =
  | { readonly kind: 'not_found' }
  /** The job has no such call, or the service refused the call. */
  | { readonly kind: 'no_call' }
  | { readonly kind: 'not_allowed' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'too_large'; readonly bytesMax: number }
  /** Another answer to the call was stored before. */
  | { readonly kind: 'conflict' }
  /** The result must fit this schema, as JSON, and was not checked yet. */
  | { readonly kind: 'unchecked'; readonly schema: string }
  | { readonly kind: 'same'; readonly answer_seq: number }
  /** The answer can be handed to the program. */
  | ({ readonly kind: 'taken' } & GivenAnswer & Omit<AppendAnswer, 'isStored'>);

/** The calls that wait for an answer. The kind `calls`, with a page of them, is for a principal that may answer. */
export type OpenToolCalls =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_allowed' }
  | {
      readonly kind: 'calls';
      readonly calls: JsonText<OpenToolCall[]>;
      /** The number of the last call; null if there is none. */
      readonly last: number | null;
      /** Whether no more calls can come. */
      readonly hasEnded: boolean;
    };

/** A stored answer to a call, with the number that the program gave the call. */
export interface GivenAnswer {
  readonly answer_seq: number;
  /** The number of the answer before it in the same job; 0 for the first. */
  readonly after: number;
  readonly call: number;
  readonly outcome: { readonly result: unknown } | { readonly error: string };
}

export interface ListPage {
  readonly items: JsonText<JobListItem[]>;
  /** The place of the last job of the page, if more jobs follow. */
  readonly next: ListPlace | null;
}

/** A page of stored events, in order, and whether the job is terminal and has no event after this page. */
export interface EventPage {
  readonly events: readonly JobEvent[];
  readonly complete: boolean;
}

/**
 * The long texts about a job, without their delimiters: an array of events or of the data of violations without its
 * brackets, or a string with the output of a stream without its quotes.
 */
export interface LongTexts {
  readonly events: JobEvent[];
  readonly violations: Violation[];
  readonly stdout: string;
  readonly stderr: string;
}

export type LongTextKind = keyof LongTexts;

/** The length of a text and the events of which it is made. */
export interface TextExtent {
  /** The length in bytes of UTF-8. */
  readonly bytes: number;
  /** The whole text if it is short; else null. */
  readonly text: string | null;
  /** The cursor before the first event of the text, and the last event of the text; equal if it is empty. */
  readonly from: number;
  readonly until: number;
  /** Whether the job is terminal and no event follows this text. */
  readonly complete: boolean;
}

/** A piece in UTF-8, and the last event in it. */
export interface TextPiece {
  readonly content: Uint8Array;
  readonly last: number;
}

/** A tenant's jobs that wait and run: all of them, and of each language. */
export interface CurrentJobs {
  readonly queued: number;
  readonly running: number;
  /** Every language once, in the contract's order. */
  readonly languages: readonly { readonly language: Language; readonly queued: number; readonly running: number }[];
}

export interface StoreCounts {
  readonly queued: number;
  readonly running: number;
  readonly oldest_queued_at: string | null;
  /** Terminal jobs whose attestation is not stored yet. */
  readonly outbox: number;
  /** Why an attestation in the outbox was last postponed; null if none was postponed. */
  readonly outbox_error: { readonly message: string; readonly at: string } | null;
}

/** An attestation with its stored bytes. */
export interface StoredAttestation {
  readonly row: AttestationRow;
  readonly envelope: Uint8Array;
  /** The bytes of the result; null if they were not requested, or lie in an object. */
  readonly result_artifact: Uint8Array | null;
  /** The object in which a requested result lies; else null. `isIntact` does not cover the bytes of this object. */
  readonly object: StoredObject | null;
  /** Whether these bytes have the digests and sizes of the row, and whether the job has the receipt. No more was checked. */
  readonly isIntact: boolean;
}

/** Everything that an attestation is made of, as it is stored. These parts are not parsed or checked yet. */
export interface TerminalRecord
  extends JobKey,
    Readonly<Pick<JobTable, 'status' | 'exit_code' | 'signal' | 'terminal_reason' | 'tenant_number'>>,
    Readonly<Pick<JobTable, 'created_at' | 'started_at' | 'finished_at' | 'duration_ms'>>,
    Readonly<ReceiptTable> {
  readonly truncated: boolean;
  /** The history without its runs of output, packed: see `unpackHistory`. Passing it to another thread transfers it. */
  readonly history: Uint8Array<ArrayBuffer>;
  readonly runs: readonly StoredRun[];
}

export type TerminalRecordResult =
  | { readonly kind: 'record'; readonly record: TerminalRecord }
  /** There is no such job, or the job has no receipt. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly message: string };
