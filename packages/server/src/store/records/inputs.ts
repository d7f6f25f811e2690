/** The store's inputs: the arguments of its operations. They cross threads, so they are plain data. */
import type {
  ArtifactRecord,
  EventBody,
  ExecutorOutput,
  JobStatus,
  Language,
  ObservedInteraction,
  ProgramUsage,
  RequestedSpec,
  ResourceUsage,
  StreamName,
  TerminalReason,
  TerminalStatus,
  Whoami,
} from '@vouchbox/protocol';
import type { LongTextKind, Message, TextExtent } from './answers.ts';
import type { AttestationRow, ExecutionRecord, JobKey, KeptOutput, ListPlace } from './rows.ts';

export interface AdmitInput extends JobKey {
  readonly created_at: string;
  readonly requested_spec: RequestedSpec;
  /** The principal that submits the job; absent for a canary, which nobody submits. */
  readonly principal?: string;
  readonly idempotency: {
    readonly key: string;
    /** SHA-256 of the canonical spec as submitted. */
    readonly spec_sha256: string;
  } | null;
  /** The digest that equal builds share. If such a build has succeeded, it is returned, and the key is not used up. */
  readonly build_sha256?: string;
  readonly queueMax: number;
  readonly tenantQueueMax: number;
  /** Present if a grading makes the job: no bound of the queue applies, and a job that was made before is returned. */
  readonly graded?: GradedJob;
  /** The other job of a pair, which is stored with this job or not at all. The idempotency key stands for both. */
  readonly interactor?: Pick<AdmitInput, 'job_id' | 'requested_spec'>;
  /** How many bytes all blobs of the tenant may have together, with the room that is reserved for large outputs. */
  readonly blobBytesMax: number;
  /** Whether the statement about the job will contain the job's number in its tenant. The job is counted in any case. */
  readonly isNumbered: boolean;
  /** Present if the service promises an answer for the job. */
  readonly promise?: PromiseTimes;
  /** Present if a slot and a cell are free for the job: the transaction that accepts the job also starts it. */
  readonly start?: Pick<StartInput, 'started_at' | 'execution'>;
}

export interface PromiseTimes {
  /** The time by which the log answers. */
  readonly answer_by: string;
  /** When to state that the job still waits: a little before the log must answer. */
  readonly due_at: string;
}

/** The job's part in its grading: its program, its step, and its number of tries. */
export interface GradedJob {
  readonly grading_id: string;
  readonly program: number;
  readonly name: string;
  readonly attempt: number;
}

export interface StartInput extends JobKey {
  /** When the job was accepted, for the statistics of waiting times. */
  readonly created_at: string;
  readonly started_at: string;
  readonly execution: ExecutionRecord;
  /** The other job of a pair, which starts with this job or not at all. */
  readonly interactor?: Pick<StartInput, 'job_id' | 'execution'>;
}

/** A node's abilities. A job that needs more is left to other nodes. */
export interface Abilities {
  readonly languages: readonly string[];
  /** The names of the node's runtime packs. */
  readonly packs: readonly string[];
  /** The demands that the node's cells satisfy: a class, and after it the limits that must be enforced, as JSON. */
  readonly isolation: readonly string[];
  /** How many MiB one job may have at most. */
  readonly memMbMax: number;
}

/** The limits of a tenant's share. */
export interface Shares {
  /** How many jobs may be in flight at the same time. */
  readonly slots: number;
  /** How many slots one tenant may have. Null: all until a second tenant has submitted a job, then all but one. */
  readonly tenantSlots: number | null;
}

/** Which queued jobs the dispatcher asks for. */
export interface QueueChoice extends Shares {
  /** Jobs that the dispatcher has already taken and that may still be queued. */
  readonly exclude: readonly string[];
  /** How many slots each tenant holds now; a tenant that is not named holds none. */
  readonly held: ReadonlyMap<string, number>;
  /** How many more slots the dispatcher can fill. The two jobs of a pair fill two. */
  readonly limit: number;
  /** How many of these slots may get jobs of gradings. */
  readonly tests: number;
  /** This node's abilities. Only a store that several nodes share reads them. */
  readonly abilities?: Abilities;
}

/** Records of both streams in their order. `stdout` and `stderr` are the folded texts of the records: see `foldOutput`. */
export interface OutputRun {
  readonly groups: readonly OutputGroup[];
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Records of one stream and one time. A record is stated as the length of its text in UTF-16 units. If it is `partial`, so that
 * no newline follows, the bitwise complement of the length is stated.
 */
export type OutputGroup = readonly [stream: StreamName, timestamp: string, lengths: readonly number[]];

/** A part of a history that is to be stored. */
export type HistoryPart = EventBody | OutputRun;

/** What is known when a job's work is over; the store adds what only the terminal transaction can know. */
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
  /** The large outputs that were kept, by their places in the request; absent if there are none. */
  readonly largeOutputs?: readonly KeptOutput[];
  /** The observations of the executor. Null if no executor took the job: the receipt then has no execution members. */
  readonly execution: ExecutionRecord | null;
  readonly usage: ResourceUsage | null;
  /** The usage of the program alone. Absent if the program did not run, or if its usage was not observed separately. */
  readonly programUsage?: ProgramUsage;
  readonly output: ExecutorOutput | null;
  /** The observations of an interaction, if the program talked to another. */
  readonly interaction?: ObservedInteraction;
  /** The signed facts beside the receipt: those of the executor and of other jobs. Left out if there are none. */
  readonly also?: Readonly<Record<string, unknown>>;
  /** Whether a caller waits for the result, which is then returned even if it is not short. */
  readonly isAwaited?: boolean;
  /** A recovery receipt holds only outcome, timing, chain summary and digest. Spec § Receipt. */
  readonly recovery: boolean;
}

/** The input of a finish, with output joined into runs for the writer's thread. */
export type PackedFinish = Omit<FinishInput, 'events'> & { readonly events: readonly HistoryPart[] };

/** A request to end a job. `principal` is the one that asks, and `at` is the time. */
export interface CancelInput extends JobKey {
  readonly principal: string;
  readonly at: string;
}

/** A change that is reported to the followers of a job. */
export interface Telling {
  /** Whether a caller of this node waits for the next event of the job. */
  readonly isFollowed?: boolean;
  /** The messages to other nodes, if there are any. */
  readonly tells?: readonly Message[];
}

/** Events to add to the chain of a running job, in order. */
export interface AppendInput extends Telling {
  readonly key: JobKey;
  readonly events: readonly HistoryPart[];
}

/** An answer to the call whose event has this number. `principal` is the one that answers, and `at` is the time. */
export interface ToolAnswerInput extends JobKey, Telling {
  readonly seq: number;
  readonly outcome: { readonly result: unknown } | { readonly error: string };
  /** Whether the result was checked against the schema of its tool, if the tool has one. */
  readonly isChecked?: boolean;
  readonly principal: string;
  readonly at: string;
}

export interface ListInput {
  readonly tenant: string;
  /** How many jobs a page may have. */
  readonly limit: number;
  /** The place after which the page begins; null for the first page. */
  readonly before: ListPlace | null;
  readonly statuses: readonly JobStatus[] | null;
  readonly language: Language | null;
  readonly label?: string | null;
}

/** At most `limit` events after a cursor. */
export interface EventsInput {
  readonly key: JobKey;
  readonly after: number;
  readonly limit: number;
}

/** The text of these events. */
export interface TextExtentInput extends EventsInput {
  readonly kind: LongTextKind;
}

/** Asks for a piece of a text whose extent is known: the piece that follows the event `after`. */
export type TextPieceInput = Omit<TextExtentInput, 'limit'> & Pick<TextExtent, 'from' | 'until'>;

export interface ArtifactPieceInput {
  readonly key: JobKey;
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
}

/** The exact bytes to be served, and what a job's detail says about them. The result may be compressed: see `compressed`. */
export interface AttestationInput extends JobKey, Omit<AttestationRow, 'tenant'> {
  readonly created_at: string;
  readonly result_artifact: Uint8Array;
  readonly envelope: Uint8Array;
  /** The hash of the attestation's leaf in the log; null if the attestation is not logged. */
  readonly leaf_hash: Uint8Array | null;
}

export type AttestationPart = 'result_artifact' | 'envelope';

/** A one-use ticket. It is stored by the hash of its secret, with the authority of the caller that minted it. */
export interface StreamTicketInput {
  readonly ticket_sha256: string;
  readonly job_id: string;
  readonly caller: Whoami;
  readonly created_at: string;
  readonly expires_at: string;
}
