/** The rows of the store: jobs, events, attestations, credentials. Rows cross threads, so they are plain data. */
import type {
  ArtifactRecord,
  executionMembers,
  JobEvent,
  JobStatus,
  Language,
  Receipt,
  Scope,
  StoredSpec,
  UsageMember,
  Whoami,
} from '@vouchbox/protocol';
import type { LinkPart } from '@vouchbox/protocol/vocabulary';
import type {
  AttestationOutboxTable,
  AttestationTable,
  BlobTable,
  JobKeyColumns,
  JobTable,
  ObjectTable,
  OutputRunTable,
  QueueTable,
} from '../schema.ts';
import type { CredentialTable, JobLinkTable } from '../schema-of-access.ts';

/** The key of a job: its tenant and its id. A query for a caller always names both, never the id alone. */
export type JobKey = Readonly<JobKeyColumns>;

/** The key of a job as one text. It is unique because no tenant and no identifier contains a space. */
export function nameOfJob({ tenant, job_id }: JobKey): string {
  return `${tenant} ${job_id}`;
}

/** An executor's observations, as JSON members of job detail; null until an executor has reported. */
export interface ExecutionRecord extends Pick<Required<Receipt>, Exclude<keyof typeof executionMembers, UsageMember>> {}

/** A job's row. Times are RFC 3339 UTC with milliseconds. */
export interface JobRow
  extends JobKey,
    Readonly<Pick<JobTable, 'status' | 'language' | 'runtime' | 'exit_code' | 'signal' | 'terminal_reason'>>,
    Readonly<Pick<JobTable, 'created_at' | 'started_at' | 'finished_at' | 'duration_ms'>> {
  readonly cancellation_requested: boolean;
  readonly truncated: boolean;
  /** The specification. It is complete in rows from this version, and may be partial in migrated rows. */
  readonly requested_spec: StoredSpec;
  readonly execution: ExecutionRecord | null;
  /** The receipt's exact canonical text and its digest, once the job is terminal. */
  readonly receipt_json: string | null;
  readonly receipt_sha256: string | null;
}

/** A row of the job list: the job without its large members. */
export type JobSummary = Omit<JobRow, 'requested_spec' | 'execution' | 'receipt_json' | 'receipt_sha256'> & {
  readonly attestation_available: boolean;
  /** The job's labels; absent if it has none. */
  readonly labels?: readonly string[];
  /** The first line of the job's program; absent if it is not known. */
  readonly first_line?: string;
};

/** A job's place among its tenant's jobs: by time of acceptance, then by id. */
export type ListPlace = Pick<JobRow, 'created_at' | 'job_id'>;

/** What the dispatcher needs to know to choose a job. */
export type QueuedJob = Readonly<QueueTable>;

/** How many slots a pair takes. A pair is two jobs whose programs talk to each other. */
export const PAIR_SLOTS = 2;

/** A job that a process left `running`. */
export interface RunningJob extends JobKey {
  readonly started_at: string;
  readonly cancellation_requested: boolean;
}

/** A job that this node has taken, in a store that several nodes share. */
export interface TakenJob extends JobKey {
  readonly status: JobStatus;
  /** When the job started; when it was accepted, if it has not started. */
  readonly started_at: string;
}

/** What a job's detail says about a stored attestation. The bytes are read separately. */
export type AttestationRow = Readonly<Omit<AttestationTable, 'job_id' | 'created_at' | 'result_artifact' | 'envelope'>>;

/** A terminal job that waits for its attestation. */
export type OutboxEntry = JobKey & Readonly<Pick<AttestationOutboxTable, 'created_at' | 'attempts'>>;

export interface StoredArtifact extends ArtifactRecord {
  readonly content: Uint8Array;
}

/** A large output whose pieces are stored, and its place in the job's request. */
export interface KeptOutput extends ArtifactRecord {
  readonly place: number;
}

/** A tenant's whole blob. Its pieces are stored under its id. */
export type StoredBlobRow = Readonly<Pick<BlobTable, 'blob_id' | 'size_bytes'>>;

/** The key of a tenant's object. */
export type ObjectKey = Readonly<Pick<ObjectTable, 'tenant' | 'object_id'>>;

/** What is needed to find an object and to check its bytes. */
export type StoredObject = Readonly<Omit<ObjectTable, 'state' | 'changed_at'>>;

/** An event as it is stored. `data` is JSON text. */
export type StoredEvent = Omit<JobEvent, 'data'> & { readonly data: string };

/** A run of output as it is stored, without its owner. */
export type StoredRun = Omit<OutputRunTable, 'tenant' | 'job_id'>;

/** The columns of an event other than its tenant, in the contract's order. */
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

/** A link to a job's result. Only the digest of the link's secret is stored. */
export interface LinkRow
  extends Readonly<Pick<JobLinkTable, 'job_id' | 'link_id' | 'secret_sha256' | 'created_at' | 'expires_at'>> {
  readonly shows: readonly LinkPart[];
  /** The authority of the link's maker, as `Access.pledge` returns it. Its tenant is the job's tenant. */
  readonly caller: Whoami;
}

/** An indexed credential. Only the digest of its secret is stored. */
export interface CredentialRow extends Readonly<Omit<CredentialTable, 'scopes'>> {
  readonly scopes: readonly Scope[];
}

/**
 * For a job with a product, this mark takes the place of the pack's name in the queue. Only a node with exactly the pack that
 * built the product takes the job. No pack has such a name.
 */
export function exactPack(digest: string): string {
  return `${EXACT}${digest}`;
}

const EXACT = '(digest) ';

/**
 * For a job with tools, this mark takes the place of the pack's name, or of a missing one, in the queue. Nodes of earlier
 * versions do not know the mark and leave the job alone: their cells have no descriptors for tools and no place for libraries.
 */
export function withTools(packOrLanguage: string): string {
  return `${TOOLS}${packOrLanguage}`;
}

/** The argument of `withTools` for a job that asked for no pack. */
export function anyPackOf(language: Language): string {
  return `(language) ${language}`;
}

const TOOLS = '(tools) ';

/** Whether a row in the queue has a mark in place of the pack's name. */
export function isMarked(runtime: string | null): boolean {
  return runtime !== null && [EXACT, TOOLS].some((mark) => runtime.startsWith(mark));
}
