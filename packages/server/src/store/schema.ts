/**
 * The store's tables after the last migration. In every table with a tenant's data, the key begins with the tenant. A job's large
 * members are in separate tables, because a job's row is rewritten with every batch of events.
 *
 * Booleans are 0 or 1. Times are RFC 3339 UTC with milliseconds. Digests are lower-case hex. JSON is kept as the text that was
 * written.
 */
import type {
  GradingStatus,
  JobStatus,
  Language,
  ProgramStatus,
  TerminalReason,
  TerminalStatus,
} from '@vouchbox/protocol';
import type { Generated, Kysely } from 'kysely';
import type { CredentialTable, JobLinkTable, StreamTicketTable } from './schema-of-access.ts';
import type { JobToolsTable, SessionTable, ToolCallTable } from './schema-of-tools.ts';

/** The store's functions run their queries on this: a connection, or a transaction on a connection. */
export type StoreDatabase = Kysely<Tables>;

export interface Tables {
  jobs: JobTable;
  queue: QueueTable;
  job_specs: JobSpecTable;
  events: EventTable;
  output_runs: OutputRunTable;
  artifacts: ArtifactTable;
  receipts: ReceiptTable;
  attestation_outbox: AttestationOutboxTable;
  attestations: AttestationTable;
  idempotency_keys: IdempotencyKeyTable;
  tenants: TenantTable;
  credentials: CredentialTable;
  stream_tickets: StreamTicketTable;
  job_links: JobLinkTable;
  probes: ProbeTable;
  nodes: NodeTable;
  claims: ClaimTable;
  signing_keys: SigningKeyTable;
  holders: HolderTable;
  blobs: BlobTable;
  blob_pieces: BlobPieceTable;
  job_blobs: JobBlobTable;
  large_outputs: LargeOutputTable;
  builds: BuildTable;
  objects: ObjectTable;
  object_uses: ObjectUseTable;
  gradings: GradingTable;
  grading_keys: GradingKeyTable;
  grading_programs: GradingProgramTable;
  grading_tests: GradingTestTable;
  grading_jobs: GradingJobTable;
  grading_events: GradingEventTable;
  grading_blobs: GradingBlobTable;
  log_state: LogStateTable;
  log_hashes: LogHashTable;
  log_entries: LogEntryTable;
  job_promises: JobPromiseTable;
  log_pending: LogPendingTable;
  job_tools: JobToolsTable;
  job_labels: JobLabelTable;
  sessions: SessionTable;
  tool_calls: ToolCallTable;
}

export interface GradingKeyColumns {
  tenant: string;
  grading_id: string;
}

export interface GradingTable extends GradingKeyColumns {
  status: GradingStatus;
  /** Who sent the grading. The grading's jobs are made in this principal's name. */
  principal: string;
  created_at: string;
  finished_at: string | null;
  cancellation_requested: number;
  programs: number;
  tests: number;
  runs_ended: number;
  /** The number of the grading's last event. */
  last_seq: number;
  /** The members that all of the grading's runs share, as JSON. */
  common: string;
}

export interface GradingKeyTable extends GradingKeyColumns {
  idempotency_key: string;
  spec_sha256: string;
}

export interface GradingProgramTable extends GradingKeyColumns {
  /** The program's position in the order in which the programs were sent, from 0. */
  position: number;
  status: ProgramStatus;
  /** The program as its owner sees it, as JSON. */
  state: string;
  /** The program, as JSON. */
  content: string;
}

export interface GradingTestTable extends GradingKeyColumns {
  position: number;
  /** The test's members that every step needs, as JSON; the test's texts are not among them. */
  head: string;
  /** The texts of a test, as JSON. */
  content: string;
}

/** The jobs that were made for a grading. A job may be removed before its grading. */
export interface GradingJobTable extends GradingKeyColumns, JobKeyColumns {
  program: number;
  /** The job's role for its program. */
  name: string;
  /** The number of the try, from 1. If the service fails to run a job, the job is made again. */
  attempt: number;
  /** Whether the grading's events already have the end of this job. */
  is_ended: number;
}

export interface GradingEventTable extends GradingKeyColumns {
  seq: number;
  timestamp: string;
  kind: string;
  data: string;
}

/** The blobs that a grading keeps until it has ended. */
export interface GradingBlobTable extends GradingKeyColumns {
  blob_id: string;
}

export interface JobKeyColumns {
  tenant: string;
  job_id: string;
}

export interface JobTable extends JobKeyColumns {
  status: JobStatus;
  language: Language;
  runtime: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  exit_code: number | null;
  signal: string | null;
  terminal_reason: TerminalReason | null;
  cancellation_requested: number;
  truncated: number;
  /** The tail of the event chain: its last sequence number and digest. */
  chain_seq: number;
  chain_head: string;
  /** The job's number among its tenant's jobs, from 1, by acceptance. Null if statements lack it, and in older rows. */
  tenant_number: number | null;
  /** The job's labels as JSON; null if it has none. */
  labels: string | null;
  /** The first line of the job's program; null if no line has content, and in older rows. */
  first_line: string | null;
}

/** A label of a job. */
export interface JobLabelTable extends Pick<JobTable, 'tenant' | 'job_id' | 'created_at'> {
  label: string;
  /** The status with which the job ended. Null until then, and for jobs that older code ended. */
  ended: TerminalStatus | null;
}

/**
 * The jobs whose status is `queued`, with the columns by which the dispatcher chooses. The table is separate, so that the
 * dispatcher's query stays fast as jobs end.
 */
export interface QueueTable extends JobKeyColumns {
  language: Language;
  runtime: string | null;
  mem_mb: number;
  created_at: string;
  /** 1 if the job belongs to a grading, else 0. */
  is_test: number;
}

export interface JobSpecTable extends JobKeyColumns {
  /** What an executor observed of the job; null until an executor has reported. */
  execution: string | null;
  /**
   * What the receipt will say about the submission, computed when the job was accepted. Null if the row was migrated after its
   * job had started.
   */
  evidence: string | null;
  requested_spec: string;
  /** Who submitted the job. Null for a canary, and in older rows. */
  principal: string | null;
}

export interface EventTable extends JobKeyColumns {
  seq: number;
  timestamp: string;
  kind: string;
  data: string;
  hash_version: number;
  prev_hash: string | null;
  event_hash: string | null;
}

/** A run of output events, numbered `seq` to `last_seq`, that have no rows of their own: see `stored-runs.ts`. */
export interface OutputRunTable extends JobKeyColumns {
  seq: number;
  last_seq: number;
  /** The `prev_hash` of the first event. */
  prev_hash: string;
  /** The size of the content before compression. */
  size_bytes: number;
  /** The digests of all events, one after the other, 32 bytes each. */
  event_hashes: Uint8Array<ArrayBuffer>;
  /** Groups of records as JSON, a line feed, and the folded texts of both streams; compressed. */
  content: Uint8Array<ArrayBuffer>;
}

export interface ArtifactTable extends JobKeyColumns {
  /** The artifact's position in the order in which artifacts were collected, from 0. */
  position: number;
  path: string;
  size_bytes: number;
  sha256: string;
  content: Uint8Array;
}

export interface ReceiptTable extends JobKeyColumns {
  receipt_json: string;
  receipt_sha256: string;
  /** 16 random bytes in hex, for the statement that is signed. Null in older rows. */
  salt: string | null;
  /** The members that the statement has beside the receipt, as JSON. Null if it has none. */
  also: string | null;
}

export interface AttestationOutboxTable extends JobKeyColumns {
  created_at: string;
  /** How often the attestation was postponed. */
  attempts: number;
  /** When the attestation may be tried again; null means not before the next start. The time counts only after a first try. */
  due_at: string | null;
  last_error: string | null;
  last_error_at: string | null;
}

export interface AttestationTable extends JobKeyColumns {
  key_id: string;
  receipt_sha256: string;
  result_sha256: string;
  result_size_bytes: number;
  envelope_sha256: string;
  envelope_size_bytes: number;
  created_at: string;
  result_artifact: Uint8Array;
  envelope: Uint8Array;
}

/** The one row of the log: see `records/log.ts`. */
export interface LogStateTable {
  state_id: number;
  host: string;
  tree: number;
  /** The public key, as `NAME+HINT+BASE64`. */
  log_key: string;
  /** How many leaves have a position. The signed head may cover fewer. */
  size: number;
  /** How many leaves the largest signed head covers; 0 until one is signed. */
  signed_size: number;
  checkpoint: string | null;
  rekor_head: string | null;
  /** The envelope of the opening statement, which is leaf 0. */
  opening: Uint8Array;
}

/** A leaf of the log, or the hash of a full tile. Neither names a tenant or a job. */
export interface LogHashTable {
  level: number;
  position: number;
  hash: Uint8Array;
}

/** The leaf of a job's signed statement, and its place once it has one. */
export interface LogEntryTable extends JobKeyColumns {
  leaf_hash: Uint8Array;
  position: number | null;
}

/** A job's promise, made when the job was accepted. */
export interface JobPromiseTable extends JobKeyColumns {
  answer_by: string;
  /** When the next pending statement is due, unless the log has the result. Null once the log has the result. */
  due_at: string | null;
  /** The id of the key that signed. Like `envelope`, it is null until the promise is signed. */
  key_id: string | null;
  envelope: Uint8Array | null;
}

/** A pending statement about a promised job. Everything but the signature is written in one transaction. */
export interface LogPendingTable extends JobKeyColumns {
  /** The number of the statement, from 1. */
  statement: number;
  stated_at: string;
  answer_by: string;
  salt: string;
  key_id: string | null;
  leaf_hash: Uint8Array | null;
  position: number | null;
  envelope: Uint8Array | null;
}

export interface IdempotencyKeyTable extends JobKeyColumns {
  idempotency_key: string;
  spec_sha256: string;
}

/** How many of a tenant's jobs wait and run, and the tenant's last turn. Stored by the transactions that change these numbers. */
export interface TenantTable {
  tenant: string;
  queued: number;
  running: number;
  /** The tenant's last turn: at each start, one more than the highest turn of any tenant. 0 before the first start. */
  last_turn: number;
  /** How many of the tenant's jobs have been accepted since this column was added. */
  accepted: number;
}

export interface ProbeTable {
  probe_id: number;
  count: number;
}

/** The processes that share a store. Only on PostgreSQL. A node without a row can no longer change anything. */
export interface NodeTable {
  /** The node's number. No other node ever gets the same number. */
  node: number;
  /** The key that the node signs with; null if it does not sign. */
  signs_with: string | null;
}

/** The public halves of the keys with which nodes signed. Only on PostgreSQL. */
export interface SigningKeyTable {
  key_id: string;
  public_key_pem: string;
  since: Generated<string>;
}

/** A single row. Nodes lock it for work that only one of them may do at a time. Only on PostgreSQL. */
export interface HolderTable {
  turn: number;
}

/** Which node has taken a job that has not ended. Only on PostgreSQL. */
export interface ClaimTable extends JobKeyColumns {
  node: number;
}

/** Uploaded files, whole or still incomplete. A tenant has at most one whole blob with the same digest. */
export interface BlobTable {
  tenant: string;
  /** The id of one upload. */
  blob_id: string;
  sha256: string;
  /** The blob's size; for an upload under way, the largest size that it may reach. */
  size_bytes: number;
  /** Whether the whole blob has arrived and has the stated digest. */
  is_whole: number;
  /** When a job last named the blob, or when it was last uploaded. */
  used_at: string;
}

export interface BlobPieceTable extends Pick<BlobTable, 'tenant' | 'blob_id'> {
  /** The position of the piece, from 0. */
  position: number;
  content: Uint8Array;
}

/** The blobs that a job names. */
export interface JobBlobTable extends JobKeyColumns {
  blob_id: string;
}

/** A job's output that is returned by its digest. The bytes are a blob. */
export interface LargeOutputTable extends JobKeyColumns {
  /** The output's position in the order of the submission, from 0. */
  position: number;
  path: string;
  size_bytes: number;
  sha256: string;
  blob_id: string;
}

/** The latest build of a program, keyed by the digest of all its inputs. */
export interface BuildTable extends JobKeyColumns {
  build_sha256: string;
}

/** Objects that are, were or will be in an object store: see `objects/objects.ts`. */
export interface ObjectTable {
  tenant: string;
  object_id: string;
  /** The digest of the content's bytes. */
  sha256: string;
  size_bytes: number;
  state: 'putting' | 'stored' | 'loose' | 'condemned';
  changed_at: string;
}

/** The object in which a job's content lies. The content's own row is then empty. */
export interface ObjectUseTable extends JobKeyColumns {
  /** The position of an artifact, or -1 for the result. */
  position: number;
  object_id: string;
}
