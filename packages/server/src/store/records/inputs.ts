/** The arguments of the store's operations. They cross threads, so they are plain data. */
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
  /** The digest that equal builds share. If an equal build succeeded, it is returned, and the idempotency key stays unused. */
  readonly build_sha256?: string;
  readonly queueMax: number;
  readonly tenantQueueMax: number;
  /** Present if a grading makes the job: the queue's bounds do not apply, and a job that was already made is returned. */
  readonly graded?: GradedJob;
  /** The other job of a pair, which is stored with this job or not at all. The idempotency key stands for both. */
  readonly interactor?: Pick<AdmitInput, 'job_id' | 'requested_spec'>;
  /** How many bytes all of the tenant's blobs may have together, including the room reserved for large outputs. */
  readonly blobBytesMax: number;
  /** Whether the job's statement will contain the job's number among the tenant's jobs. The job is counted in any case. */
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

/** A job's part in its grading: the program, the step, and the number of the try. */
export interface GradedJob {
  readonly grading_id: string;
  readonly program: number;
  readonly name: string;
  readonly attempt: number;
}

export interface StartInput extends JobKey {
  /** When the job was accepted, for statistics on waiting times. */
  readonly created_at: string;
  readonly started_at: string;
  readonly execution: ExecutionRecord;
  /** The other job of a pair, which starts with this job or not at all. */
  readonly interactor?: Pick<StartInput, 'job_id' | 'execution'>;
}

/** What a node can run. A job that needs more is left to other nodes. */
export interface Abilities {
  readonly languages: readonly string[];
  /** The names of the node's runtime packs. */
  readonly packs: readonly string[];
  /** The demands that the node's cells satisfy. Each is a class, followed by the limits that must be enforced, as JSON. */
  readonly isolation: readonly string[];
  /** The most MiB that one job may have. */
  readonly memMbMax: number;
}

/** The limits of a tenant's share. */
export interface Shares {
  /** How many jobs may be in flight at the same time. */
  readonly slots: number;
  /** How many slots one tenant may have. Null: all until a second tenant has submitted a job, then all but one. */
  readonly tenantSlots: number | null;
}

/** The dispatcher's request for queued jobs. */
export interface QueueChoice extends Shares {
  /** Jobs that the dispatcher has already taken and that may still be queued. */
  readonly exclude: readonly string[];
  /** How many slots each tenant holds now. A tenant that is missing here holds none. */
  readonly held: ReadonlyMap<string, number>;
  /** How many more slots the dispatcher can fill. The two jobs of a pair fill two. */
  readonly limit: number;
  /** How many of these slots may be filled with gradings' jobs. */
  readonly tests: number;
  /** What this node can run. Only a store that several nodes share reads this. */
  readonly abilities?: Abilities;
}

/** Records of both streams, in order. `stdout` and `stderr` are the folded texts of the records: see `foldOutput`. */
export interface OutputRun {
  readonly groups: readonly OutputGroup[];
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Records with the same stream and time. Each record is given as the length of its text in UTF-16 units. A `partial` record,
 * which no newline follows, is given as the bitwise complement of that length.
 */
export type OutputGroup = readonly [stream: StreamName, timestamp: string, lengths: readonly number[]];

/** A part of a job's history, to be stored. */
export type HistoryPart = EventBody | OutputRun;

/** The facts that are known when a job's work is over. The store adds the facts that only the terminal transaction can know. */
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
  /** The large outputs that were kept, each with its place in the request; absent if there are none. */
  readonly largeOutputs?: readonly KeptOutput[];
  /** What the executor observed. Null if no executor took the job: the receipt then has no execution members. */
  readonly execution: ExecutionRecord | null;
  readonly usage: ResourceUsage | null;
  /** The usage of the program alone. Absent if the program did not run, or if its usage was not observed separately. */
  readonly programUsage?: ProgramUsage;
  readonly output: ExecutorOutput | null;
  /** What was observed of the interaction, if the program talked to another program. */
  readonly interaction?: ObservedInteraction;
  /** Facts that are signed beside the receipt: the executor's, and those about other jobs. Left out if there are none. */
  readonly also?: Readonly<Record<string, unknown>>;
  /** Whether a caller waits for the result. The result is then returned even if it is not short. */
  readonly isAwaited?: boolean;
  /** Whether the end may be stored a moment later, in one commit with another change. Default: false. */
  readonly mayWait?: boolean;
  /** A recovery receipt holds only outcome, timing, chain summary and digest. Spec § Receipt. */
  readonly recovery: boolean;
}

/** The input for `finish`, with output joined into runs for the writer's thread. */
export type PackedFinish = Omit<FinishInput, 'events'> & { readonly events: readonly HistoryPart[] };

/** A request to end a job. `principal` is who asks, and `at` is when. */
export interface CancelInput extends JobKey {
  readonly principal: string;
  readonly at: string;
}

/** A change that is reported to the followers of a job. */
export interface Telling {
  /** Whether a caller at this node waits for the job's next event. */
  readonly isFollowed?: boolean;
  /** The messages to other nodes, if there are any. */
  readonly tells?: readonly Message[];
}

/** Events to add to the chain of a running job, in order. */
export interface AppendInput extends Telling {
  readonly key: JobKey;
  readonly events: readonly HistoryPart[];
}

/** An answer to the call whose event has the number `seq`. `principal` is who answers, and `at` is when. */
export interface ToolAnswerInput extends JobKey, Telling {
  readonly seq: number;
  readonly outcome: { readonly result: unknown } | { readonly error: string };
  /** Whether the result was checked against its tool's schema, if the tool has one. */
  readonly isChecked?: boolean;
  readonly principal: string;
  readonly at: string;
}

export interface ListInput {
  readonly tenant: string;
  /** How many jobs a page may have. */
  readonly limit: number;
  /** The page begins after this place; null for the first page. */
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

/** Asks for the piece that follows the event `after`, in a text whose extent is known. */
export type TextPieceInput = Omit<TextExtentInput, 'limit'> & Pick<TextExtent, 'from' | 'until'>;

export interface ArtifactPieceInput {
  readonly key: JobKey;
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
}

/** The exact bytes to serve, and what a job's detail says about them. The result may be compressed: see `compressed`. */
export interface AttestationInput extends JobKey, Omit<AttestationRow, 'tenant'> {
  readonly created_at: string;
  readonly result_artifact: Uint8Array;
  readonly envelope: Uint8Array;
  /** The hash of the attestation's leaf in the log; null if the attestation is not logged. */
  readonly leaf_hash: Uint8Array | null;
}

export type AttestationPart = 'result_artifact' | 'envelope';

/** A one-use ticket: the hash of its secret, and the authority of the caller who minted it. */
export interface StreamTicketInput {
  readonly ticket_sha256: string;
  readonly job_id: string;
  readonly caller: Whoami;
  readonly created_at: string;
  readonly expires_at: string;
}
