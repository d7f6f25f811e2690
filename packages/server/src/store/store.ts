/**
 * The store's interface, without SQL. A failure rejects with a `StoreError`. Every method that changes something
 * resolves only when the change is on disk. Every read for a caller carries the tenant: a foreign job and an unknown
 * one are the same `null`. Nothing above this floor knows SQL; nothing here knows HTTP or processes.
 */
import type { ArtifactRecord, EventBody, FoldedResult, JobDetail, RequestedSpec, Whoami } from '@vouchbox/protocol';
import type { JsonText } from '../ground/json-text.ts';
import type {
  AdmitInput,
  AdmitResult,
  ArtifactPieceInput,
  AttestationInput,
  AttestationPart,
  CancelInput,
  CancelResult,
  CredentialRow,
  CurrentJobs,
  EventPage,
  FinishInput,
  JobDetailInput,
  JobKey,
  JobRow,
  JobSummary,
  ListInput,
  ListPage,
  OutboxEntry,
  QueueAnswer,
  QueueChoice,
  RunningJob,
  StartInput,
  StoreCounts,
  StoredArtifact,
  StoredAttestation,
  StreamTicketInput,
  TerminalRecordResult,
  TextExtent,
  TextExtentInput,
  TextPiece,
  TextPieceInput,
} from './records.ts';

export interface Store extends AsyncDisposable {
  /**
   * Stores a queued job with its `queued` event and its idempotency key, or says why not. With `start` the job runs as
   * soon as it is stored: it has both events, and never was in the queue.
   */
  admit(input: AdmitInput): Promise<AdmitResult>;
  /**
   * SHA-256 over the canonical form of a specification with its defaults filled in and its limits as asked for: neither
   * another spelling nor another ceiling makes a replay into a reuse of its key.
   */
  specDigest(spec: RequestedSpec): Promise<string>;
  /** The job a key of this tenant stands for, without creating anything. */
  findByIdempotencyKey(tenant: string, key: string): Promise<{ spec_sha256: string; job: JobSummary } | null>;

  /** Queued jobs in the order they should run: oldest first within a tenant, tenants taking turns. */
  queuedJobs(input: QueueChoice): Promise<QueueAnswer>;
  /** queued → running with the `started` event. False where the job is no longer queued. */
  start(input: StartInput): Promise<boolean>;
  /** Adds events to the chain of a running job, in order. False where the job is not running: nothing is stored. */
  append(key: JobKey, events: readonly EventBody[]): Promise<boolean>;
  /**
   * The terminal transaction: events, artifacts, `finished`, status, receipt and outbox row, all or none. False where
   * the job was terminal already, which then stays as it ended.
   */
  finish(input: FinishInput): Promise<boolean>;
  /** Whether this process has started the job and not yet stored its end. False does not say that it does not run. */
  isUnderWay(key: JobKey): boolean;
  /** The result of a job that ended lately, where it is short; null where it has to be read, or there is no such job. */
  shortResult(key: JobKey): JsonText<FoldedResult> | null;
  requestCancel(input: CancelInput): Promise<CancelResult>;
  /** Jobs left `running` by a process that is gone. */
  runningJobs(): Promise<readonly RunningJob[]>;

  job(key: JobKey): Promise<JobRow | null>;
  /** A job as its owner reads it. */
  jobDetail(input: JobDetailInput): Promise<JsonText<JobDetail> | null>;
  jobSummary(key: JobKey): Promise<JobSummary | null>;
  /** One page of a tenant's jobs, newest first. */
  list(input: ListInput): Promise<ListPage>;
  events(key: JobKey, page: { readonly after: number; readonly limit: number }): Promise<EventPage | null>;
  /** How long a text of the job is, and all of it where it is short; null where the tenant has no such job. */
  textExtent(input: TextExtentInput): Promise<TextExtent | null>;
  /** The next piece of a text whose extent is known; null where its events are gone. */
  textPiece(input: TextPieceInput): Promise<TextPiece | null>;
  /** The artifacts of the job without their content, in order. */
  artifactRecords(key: JobKey): Promise<readonly ArtifactRecord[]>;
  /** Some bytes of one artifact; null where it is gone. */
  artifactPiece(input: ArtifactPieceInput): Promise<Uint8Array | null>;
  artifacts(key: JobKey): Promise<readonly StoredArtifact[] | null>;

  counts(): Promise<StoreCounts>;
  /** Proves that the store can be written. Rejects if it cannot. */
  probe(): Promise<void>;

  /** Waiting and running jobs of one tenant. */
  currentJobs(tenant: string): Promise<CurrentJobs>;

  /** Jobs to be attested in the order in which they ended: those never tried, and those that are due again at `now`. */
  outbox(input: { readonly now: string; readonly limit: number }): Promise<readonly OutboxEntry[]>;
  /** The records of jobs, in their order: as many as `bytesMax` bytes have room for, and the first in any case. */
  terminalRecords(input: {
    readonly keys: readonly JobKey[];
    readonly bytesMax: number;
  }): Promise<readonly TerminalRecordResult[]>;
  /**
   * Puts an attestation off until `due_at`, because of `error`; null puts it off until `resumeAttestations`. False where
   * the job is not in the outbox.
   */
  postponeAttestation(
    input: JobKey & { readonly due_at: string | null; readonly error: string; readonly at: string },
  ): Promise<boolean>;
  /** Makes everything in the outbox due at `at`, in the order in which it ended. Answers how much was put off. */
  resumeAttestations(at: string): Promise<number>;
  /** Stores an attestation and takes its job out of the outbox. False where the job is not in it: nothing changes. */
  storeAttestation(input: AttestationInput): Promise<boolean>;
  /** Removes an attestation because of `error` and puts its job back into the outbox. False where there is none. */
  withdrawAttestation(input: JobKey & { readonly error: string; readonly at: string }): Promise<boolean>;
  /** The stored envelope, and the result artifact where `part` asks for it; null where there is none of this tenant. */
  attestation(key: JobKey, part: AttestationPart): Promise<StoredAttestation | null>;

  /** Rejects where a credential of this identifier exists. */
  createCredential(input: CredentialRow): Promise<void>;
  /** The one thing that is found without a tenant: it is what says which tenant. */
  credential(credential_id: string): Promise<CredentialRow | null>;
  /** Oldest first; of every tenant where `tenant` is null. */
  credentials(tenant: string | null): Promise<readonly CredentialRow[]>;
  /** Ends a credential at `at`, or earlier if it was to end earlier. False where it is unknown. */
  revokeCredential(input: { readonly credential_id: string; readonly at: string }): Promise<boolean>;
  /** Creates `successor` and ends its predecessor at `at`, both or neither. False where that one is unknown. */
  rotateCredential(input: {
    readonly credential_id: string;
    readonly at: string;
    readonly successor: CredentialRow;
  }): Promise<boolean>;

  /** Stores a ticket and forgets some of those that expired. False where the caller's tenant has no such job. */
  storeTicket(input: StreamTicketInput): Promise<boolean>;
  /** Uses a ticket up, whatever comes of it. Null where it is unknown, used, expired or of another job. */
  consumeTicket(input: {
    readonly ticket_sha256: string;
    readonly job_id: string;
    readonly now: string;
  }): Promise<Whoami | null>;

  /**
   * Removes whole terminal jobs that ended before `before`, with everything of them, at most `limit` in one transaction
   * and fewer where they are large. Answers how many: 0 says that none is left. `unattested` says what becomes of jobs in
   * the outbox.
   */
  deleteEnded(input: {
    readonly before: string;
    readonly limit: number;
    readonly unattested: 'kept' | 'removed';
  }): Promise<number>;
}
