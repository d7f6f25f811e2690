/** The store's answers to its operations. They cross threads, so they are plain data. */
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

/** What the answer to a submission says about its job. */
export type AcceptedJob = Pick<JobSummary, 'job_id' | 'created_at'>;

/** The result of an admission, decided and stored in one transaction. `full` says whose bound was reached. */
export type AdmitResult =
  | { readonly kind: 'created'; readonly job: AcceptedJob }
  /** `peer` is the interactor's job, if the first submission had an interactor. */
  | { readonly kind: 'replayed'; readonly job: AcceptedJob; readonly peer: string | null }
  | { readonly kind: 'key_reused' }
  /** The grading that would make the job has ended or is to end. */
  | { readonly kind: 'grading_over' }
  /** The tenant does not have one of the blobs that the submission names. */
  | { readonly kind: 'blob_unavailable' }
  /** The session is at another step; `found` is null if the principal has no session with this name. */
  | { readonly kind: 'session_conflict'; readonly found: Session | null }
  /** `kept blobs`: there would be no room even if all unfinished jobs gave back the room reserved for them. */
  | { readonly kind: 'full'; readonly of: 'queue' | 'tenant' | 'blobs' | 'kept blobs' | 'sessions' };

/** A chosen job. `requested_spec` is the JSON text of its submission, or null if that is too long and must be read separately. */
export interface ChosenJob extends QueuedJob {
  readonly requested_spec: string | null;
  /** The interactor's job; absent if the chosen job is not one of a pair. */
  readonly peer?: ChosenJob;
}

export interface QueueAnswer {
  /** The jobs in the order in which they should run. */
  readonly jobs: readonly ChosenJob[];
  /** Whether every job in the queue is one of these, or was already taken by the caller. */
  readonly isEmpty: boolean;
  /** Two of the tenants that ever submitted a job; fewer if there are fewer. */
  readonly tenants: readonly string[];
}

/** What a grading needs to know about the end of one of its jobs. */
export interface GradedJobEnd {
  readonly terminal_reason: string | null;
  readonly exit_code: number | null;
  readonly truncated: boolean;
  /** The receipt; null until the job has ended. */
  readonly receipt_json: string | null;
  readonly receipt_sha256: string | null;
}

/** A message to other nodes. A change to the store sends it right after the commit. */
export interface Message {
  readonly channel: string;
  readonly payload: string;
  /** The store's key; `added` is sealed under it. */
  readonly key: string;
  readonly added?: Added | null;
}

/**
 * What a change added to a job. A node that follows the job gets the additions with the message, and need not read them. A later
 * version may add members, but must change none.
 */
export interface Added extends JobKey {
  readonly events: readonly StoredEvent[];
  readonly answer?: GivenAnswer;
}

/** Whether events were stored. `toFollow` has the events to pass to followers; null if followers must read them. */
export interface AppendAnswer {
  readonly isStored: boolean;
  readonly tells?: readonly Message[];
  readonly toFollow: readonly StoredEvent[] | null;
}

/** Whether the end was stored. `result`: the folded result's JSON text, if it is short. `end`: the end, if it is awaited. */
export interface FinishAnswer {
  readonly isStored: boolean;
  readonly result: JsonText<FoldedResult> | null;
  readonly end: GradedJobEnd | null;
}

/** The result of a cancellation. `peer`, if any, is the pair's other job. It is cancelled, too, unless it has ended. */
export type CancelResult =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'already_terminal' }
  /** The job was queued and is now terminal. Its receipt, its `finished` event and its outbox row were written, too. */
  | { readonly kind: 'cancelled'; readonly peer?: string }
  /** The job runs. The request is recorded, and the dispatcher on the job's node must be told. */
  | { readonly kind: 'running'; readonly peer?: string; readonly node: number | null };

export type ToolAnswerResult =
  | { readonly kind: 'not_found' }
  /** The job has no such call, or the service refused the call. */
  | { readonly kind: 'no_call' }
  | { readonly kind: 'not_allowed' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'too_large'; readonly bytesMax: number }
  /** Another answer to the call is already stored. */
  | { readonly kind: 'conflict' }
  /** The result must fit this schema (JSON), and has not been checked yet. */
  | { readonly kind: 'unchecked'; readonly schema: string }
  | { readonly kind: 'same'; readonly answer_seq: number }
  /** The answer can be handed to the program. */
  | ({ readonly kind: 'taken' } & GivenAnswer & Omit<AppendAnswer, 'isStored'>);

/** The calls that wait for an answer. A principal that may answer gets the kind `calls`, with a page of them. */
export type OpenToolCalls =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_allowed' }
  | {
      readonly kind: 'calls';
      readonly calls: JsonText<OpenToolCall[]>;
      /** The number of the last call; null if there is none. */
      readonly last: number | null;
      /** Whether no further calls can come. */
      readonly hasEnded: boolean;
    };

/** A stored answer to a call. `call` is the number that the program gave the call. */
export interface GivenAnswer {
  readonly answer_seq: number;
  /** The number of the job's previous answer; 0 for the first. */
  readonly after: number;
  readonly call: number;
  readonly outcome: { readonly result: unknown } | { readonly error: string };
}

export interface ListPage {
  readonly items: JsonText<JobListItem[]>;
  /** The place of the page's last job if more jobs follow; otherwise null. */
  readonly next: ListPlace | null;
}

/** A page of stored events, in order, and whether the job is terminal and has no event after this page. */
export interface EventPage {
  readonly events: readonly JobEvent[];
  readonly complete: boolean;
}

/**
 * The long texts about a job, each without its delimiters. Arrays of events and of violations' data lack their brackets, and
 * strings of output lack their quotes.
 */
export interface LongTexts {
  readonly events: JobEvent[];
  readonly violations: Violation[];
  readonly stdout: string;
  readonly stderr: string;
}

export type LongTextKind = keyof LongTexts;

/** The length of a text, and the events that make it up. */
export interface TextExtent {
  /** The length in bytes of UTF-8. */
  readonly bytes: number;
  /** The whole text if it is short; otherwise null. */
  readonly text: string | null;
  /** The cursor before the text's first event, and the text's last event; equal if the text is empty. */
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

/** How many of a tenant's jobs wait and run: in all, and by language. */
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
  /** Why an attestation in the outbox was last postponed; null if none was. */
  readonly outbox_error: { readonly message: string; readonly at: string } | null;
}

/** An attestation with its stored bytes. */
export interface StoredAttestation {
  readonly row: AttestationRow;
  readonly envelope: Uint8Array;
  /** The bytes of the result; null if they were not requested, or lie in an object. */
  readonly result_artifact: Uint8Array | null;
  /** The object in which a requested result lies; otherwise null. `isIntact` does not cover this object's bytes. */
  readonly object: StoredObject | null;
  /** Whether the bytes match the row's digests and sizes, and the row names the job's receipt. Nothing else was checked. */
  readonly isIntact: boolean;
}

/** Everything that an attestation is made of, as it is stored. Nothing has been parsed or checked yet. */
export interface TerminalRecord
  extends JobKey,
    Readonly<Pick<JobTable, 'status' | 'exit_code' | 'signal' | 'terminal_reason' | 'tenant_number'>>,
    Readonly<Pick<JobTable, 'created_at' | 'started_at' | 'finished_at' | 'duration_ms'>>,
    Readonly<ReceiptTable> {
  readonly truncated: boolean;
  /** The history without its runs of output, packed: see `unpackHistory`. It is transferred, not copied, to another thread. */
  readonly history: Uint8Array<ArrayBuffer>;
  readonly runs: readonly StoredRun[];
}

export type TerminalRecordResult =
  | { readonly kind: 'record'; readonly record: TerminalRecord }
  /** There is no such job, or the job has no receipt. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly message: string };
