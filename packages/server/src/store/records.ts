/**
 * What goes into the store and comes out of it: rows, inputs and results. All of it crosses threads, so it is plain
 * data.
 */
import type {
  ArtifactRecord,
  EventBody,
  ExecutorOutput,
  executionMembers,
  FoldedResult,
  JobDetail,
  JobEvent,
  JobListItem,
  JobStatus,
  Language,
  Receipt,
  RequestedSpec,
  ResourceUsage,
  Scope,
  StoredSpec,
  TerminalReason,
  TerminalStatus,
  Violation,
  Whoami,
} from '@vouchbox/protocol';
import type { JsonText } from '../ground/json-text.ts';
import type { HistoryPart } from './history/output-run.ts';
import type { StoredRun } from './history/stored-runs.ts';
import type { Shares } from './jobs/fair-share.ts';

/** The key of a job: its tenant and its id. No query for a caller takes an id alone. */
export interface JobKey {
  readonly tenant: string;
  readonly job_id: string;
}

/** What an executor observed, as JSON members of job detail; null until then. */
export interface ExecutionRecord
  extends Pick<Required<Receipt>, Exclude<keyof typeof executionMembers, 'resource_usage' | 'executor_output'>> {}

/** A job's row. Times are RFC 3339 UTC with milliseconds. */
export interface JobRow extends JobKey {
  readonly status: JobStatus;
  readonly language: Language;
  readonly runtime: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_ms: number | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly terminal_reason: TerminalReason | null;
  readonly cancellation_requested: boolean;
  readonly truncated: boolean;
  /** Complete for jobs of this version; may be partial on migrated rows. */
  readonly requested_spec: StoredSpec;
  readonly execution: ExecutionRecord | null;
  /** The exact canonical receipt text and its digest, once terminal. */
  readonly receipt_json: string | null;
  readonly receipt_sha256: string | null;
  readonly attestation: AttestationRow | null;
}

/** With signing off, a job that ended is not attested any more; what was attested before stays so. */
export type Signing = 'on' | 'off';

/** Which detail is requested. */
export interface JobDetailInput {
  readonly key: JobKey;
  readonly signing: Signing;
}

export interface DetailText {
  readonly text: JsonText<JobDetail>;
  /** Whether it cannot change until the job is removed or its attestation withdrawn. */
  readonly isFinal: boolean;
}

/** What a detail says about a stored attestation. The bytes are read separately. */
export interface AttestationRow {
  readonly tenant: string;
  readonly key_id: string;
  readonly receipt_sha256: string;
  readonly result_sha256: string;
  readonly result_size_bytes: number;
  readonly envelope_sha256: string;
  readonly envelope_size_bytes: number;
}

/** A row of the job list: the job without its large members. */
export type JobSummary = Omit<
  JobRow,
  'requested_spec' | 'execution' | 'receipt_json' | 'receipt_sha256' | 'attestation'
> & {
  readonly attestation_available: boolean;
};

export interface AdmitInput extends JobKey {
  readonly created_at: string;
  readonly requested_spec: RequestedSpec;
  readonly idempotency: {
    readonly key: string /** SHA-256 of the canonical spec as submitted. */;
    readonly spec_sha256: string;
  } | null;
  readonly queueMax: number;
  readonly tenantQueueMax: number;
  /** Given if a slot and a cell are free for the job: the transaction that accepts it also starts it. */
  readonly start?: Pick<StartInput, 'started_at' | 'execution'>;
}

/** The result of an admission, decided and stored in one transaction. `full` says whose bound was reached. */
export type AdmitResult =
  | { readonly kind: 'created'; readonly job: JobSummary }
  | { readonly kind: 'replayed'; readonly job: JobSummary }
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'full'; readonly of: 'queue' | 'tenant' };

/** What the dispatcher must know about a job to choose. */
export interface QueuedJob extends JobKey {
  readonly language: Language;
  readonly runtime: string | null;
  readonly mem_mb: number;
  readonly created_at: string;
}

/** Which queued jobs the dispatcher asks for. */
export interface QueueChoice extends Shares {
  /** Jobs that it has already taken and that may still be queued. */
  readonly exclude: readonly string[];
  /** How many slots each tenant holds now; a tenant that is not named holds none. */
  readonly held: ReadonlyMap<string, number>;
  /** How many more it can take. */
  readonly limit: number;
}

/** A chosen job, with the JSON text of its submission; null if that is too long and must be read separately. */
export interface ChosenJob extends QueuedJob {
  readonly requested_spec: string | null;
}

export interface QueueAnswer {
  /** In the order in which they should run. */
  readonly jobs: readonly ChosenJob[];
  /** Whether no other job is queued beside these and those that the caller has already taken. */
  readonly isEmpty: boolean;
  /** Two of the tenants that ever submitted a job, or the one or none that did. */
  readonly tenants: readonly string[];
}

/** A job that a process left `running`. */
export interface RunningJob extends JobKey {
  readonly started_at: string;
  readonly cancellation_requested: boolean;
}

export interface StartInput extends JobKey {
  readonly started_at: string;
  readonly execution: ExecutionRecord;
}

/** What a finishing stage knows; the store adds what only the terminal transaction can know. */
export interface FinishInput extends JobKey {
  readonly status: TerminalStatus;
  readonly terminal_reason: TerminalReason;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly finished_at: string;
  readonly duration_ms: number | null;
  /** Events that belong before `finished`: artifacts, violations, truncations. */
  readonly events: readonly EventBody[];
  readonly artifacts: readonly (ArtifactRecord & { readonly content: Uint8Array })[];
  /** What the executor observed. Null if no executor took the job: the receipt then has no execution members. */
  readonly execution: ExecutionRecord | null;
  readonly usage: ResourceUsage | null;
  readonly output: ExecutorOutput | null;
  /** Whether a caller waits for the result, which is then returned even if it is not short. */
  readonly isAwaited?: boolean;
  /** A recovery receipt holds only outcome, timing, chain summary and digest. Spec § Receipt. */
  readonly recovery: boolean;
}

/** The same, with output joined into runs for the writer's thread. */
export type PackedFinish = Omit<FinishInput, 'events'> & { readonly events: readonly HistoryPart[] };

/** Whether the end was stored, and the JSON text of the job's folded result if it is short. */
export interface FinishAnswer {
  readonly isStored: boolean;
  readonly result: JsonText<FoldedResult> | null;
}

/** `principal` is who asks; `at` is when. */
export interface CancelInput extends JobKey {
  readonly principal: string;
  readonly at: string;
}

export type CancelResult =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'already_terminal' }
  /** It was queued, and is terminal now: receipt, `finished` event and outbox row were written with it. */
  | { readonly kind: 'cancelled' }
  /** It runs. The request is recorded, and the dispatcher must be told. */
  | { readonly kind: 'running' };

/** The place of a job among those of its tenant: by time of acceptance, then by id. */
export type ListPlace = Pick<JobRow, 'created_at' | 'job_id'>;

export interface ListInput {
  readonly tenant: string;
  /** Jobs on a page. */
  readonly limit: number;
  /** Exclusive: jobs after this place. */
  readonly before: ListPlace | null;
  readonly statuses: readonly JobStatus[] | null;
  readonly language: Language | null;
}

export interface ListPage {
  readonly items: JsonText<JobListItem[]>;
  /** The place of the last of them if more jobs follow. */
  readonly next: ListPlace | null;
}

/** A page of stored events, in order, and whether the job is terminal with nothing after this page. */
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

/** The text of at most `limit` events after a cursor. */
export interface TextExtentInput {
  readonly key: JobKey;
  readonly kind: LongTextKind;
  readonly after: number;
  readonly limit: number;
}

/** The length of a text and the events that it is made of. */
export interface TextExtent {
  /** Bytes of UTF-8. */
  readonly bytes: number;
  /** The whole text if it is short; else null. */
  readonly text: string | null;
  /** The cursor before its first event, and its last event; equal if it is empty. */
  readonly from: number;
  readonly until: number;
  /** Whether the job is terminal with nothing after this text. */
  readonly complete: boolean;
}

/** The text of an extent from the event after `after`. */
export interface TextPieceInput extends Pick<TextExtent, 'from' | 'until'> {
  readonly key: JobKey;
  readonly kind: LongTextKind;
  readonly after: number;
}

/** A piece in UTF-8, and the last event in it. */
export interface TextPiece {
  readonly content: Uint8Array;
  readonly last: number;
}

export interface ArtifactPieceInput {
  readonly key: JobKey;
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
}

export interface StoredArtifact extends ArtifactRecord {
  readonly content: Uint8Array;
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
  /** Why an attestation of the outbox was last postponed; null if none was. */
  readonly outbox_error: { readonly message: string; readonly at: string } | null;
}

/** A terminal job that waits for its attestation. */
export interface OutboxEntry extends JobKey {
  readonly created_at: string;
  /** How often it was postponed. */
  readonly attempts: number;
}

/** The exact bytes to be served, and what a detail says about them. The result may be compressed: see `compressed`. */
export interface AttestationInput extends JobKey, Omit<AttestationRow, 'tenant'> {
  readonly created_at: string;
  readonly result_artifact: Uint8Array;
  readonly envelope: Uint8Array;
}

export type AttestationPart = 'result_artifact' | 'envelope';

/** An attestation with its stored bytes. */
export interface StoredAttestation {
  readonly row: AttestationRow;
  readonly envelope: Uint8Array;
  /** Null if it was not asked for. */
  readonly result_artifact: Uint8Array | null;
  /**
   * Whether these bytes have the digests and sizes of the row, and whether the job has the receipt. Nothing else was
   * checked.
   */
  readonly isIntact: boolean;
}

/** An event as it is stored. `data` is JSON text. */
export type StoredEvent = Omit<JobEvent, 'data'> & { readonly data: string };

/** The columns of an event beside its tenant, in the order of the contract. */
export const EVENT_COLUMNS = [
  'job_id',
  'seq',
  'timestamp',
  'kind',
  'data',
  'hash_version',
  'prev_hash',
  'event_hash',
] as const satisfies readonly (keyof StoredEvent)[];

/** Everything that an attestation is made of, as it is stored. It is not parsed or checked yet. */
export interface TerminalRecord extends JobKey {
  readonly status: JobStatus;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly terminal_reason: TerminalReason | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_ms: number | null;
  readonly truncated: boolean;
  readonly receipt_json: string;
  readonly receipt_sha256: string;
  /** The history without its runs of output, packed: see `unpackHistory`. Passing it to another thread transfers it. */
  readonly history: Uint8Array<ArrayBuffer>;
  readonly runs: readonly StoredRun[];
}

export type TerminalRecordResult =
  | { readonly kind: 'record'; readonly record: TerminalRecord }
  /** There is no such job, or it has no receipt. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly message: string };

/** An indexed credential. Only the digest of its secret is stored. */
export interface CredentialRow {
  readonly credential_id: string;
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly Scope[];
  readonly secret_sha256: string;
  readonly created_at: string;
  /** When it expires; null if it does not expire. */
  readonly expires_at: string | null;
  /** When it ends early; may be in the future, if another credential replaces it. */
  readonly revoked_at: string | null;
}

/** A one-use ticket. It is stored by the hash of its secret, with the authority of the caller that minted it. */
export interface StreamTicketInput {
  readonly ticket_sha256: string;
  readonly job_id: string;
  readonly caller: Whoami;
  readonly created_at: string;
  readonly expires_at: string;
}
