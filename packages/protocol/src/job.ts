/**
 * The owner's views of a job: detail, list item, folded result, attestation. Spec § Job detail, § Folded result.
 */

import { ArtifactRecord, EffectiveLimitsSchema, ReplayPage, Violation } from './events.ts';
import { DsseEnvelope } from './evidence.ts';
import { ISOLATION_CLASSES } from './isolation.ts';
import { BACKENDS, NETWORKING, SECCOMP_MODES } from './posture.ts';
import { AnyReceipt, LimitEnforcementSchema } from './receipt.ts';
import { JobId, RelativeUrl, Sha256, Timestamp } from './spellings.ts';
import { JOB_STATUSES, TERMINAL_REASONS } from './status.ts';
import { Interaction, LanguageName, StoredSpec } from './submission.ts';
import { Nullable, type Static, Type } from './type.ts';

export const EffectiveSpec = Type.Object({
  isolation_class: Nullable(Type.Enum([...ISOLATION_CLASSES])),
  limits: EffectiveLimitsSchema,
});

/** Whether and where a job's signed evidence can be fetched. Until then, all members except `available` are null. */
export const AttestationMember = Type.Object({
  available: Type.Boolean({ description: 'May be false just after the end: signing is asynchronous.' }),
  tenant: Nullable(Type.String({ description: 'The tenant bound into the signed evidence.' })),
  key_id: Nullable(Type.String({ description: '`sha256:` and the SHA-256 of the key as SPKI DER.' })),
  receipt_sha256: Nullable(Sha256),
  result_media_type: Nullable(Type.String()),
  result_sha256: Nullable(Sha256),
  result_size_bytes: Nullable(Type.Integer()),
  envelope_sha256: Nullable(Sha256),
  envelope_size_bytes: Nullable(Type.Integer()),
  envelope_url: Nullable(RelativeUrl),
  result_artifact_url: Nullable(RelativeUrl),
});
export type AttestationMember = Static<typeof AttestationMember>;

/** Lifecycle members of the detail, the list item and a link's view. */
export const lifecycle = {
  job_id: JobId,
  status: Type.Enum([...JOB_STATUSES]),
  language: LanguageName,
  runtime: Nullable(Type.String()),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  finished_at: Nullable(Timestamp),
  duration_ms: Nullable(Type.Integer()),
  exit_code: Nullable(Type.Integer()),
  terminal_reason: Nullable(Type.Enum([...TERMINAL_REASONS])),
};

const LargeOutputRecords = Type.Array(ArtifactRecord, {
  description:
    'Large outputs that came back, each to be fetched by its digest. Absent unless the submission asked for some.',
});

const jobDetailMembers = {
  ...lifecycle,
  tenant: Type.String(),
  signal: Nullable(Type.String()),
  cancellation_requested: Type.Boolean(),
  requested_spec: StoredSpec,
  effective_spec: Nullable(EffectiveSpec),
  backend: Nullable(Type.Enum([...BACKENDS])),
  bootstrap_ready: Nullable(Type.Boolean()),
  networking: Nullable(Type.Enum([...NETWORKING])),
  network_allowed: Nullable(Type.Boolean()),
  private_rootfs: Nullable(Type.Boolean()),
  dedicated_bootstrap: Nullable(Type.Boolean()),
  seccomp: Nullable(Type.Enum([...SECCOMP_MODES])),
  limit_enforcement: Nullable(LimitEnforcementSchema),
  large_outputs: Type.Optional(LargeOutputRecords),
  attestation: AttestationMember,
  receipt: Type.Optional(AnyReceipt),
  receipt_sha256: Type.Optional(Sha256),
};

/** `effective_spec` and the members about the execution policy are null if no executor observed them. */
export const JobDetail = Type.Object(jobDetailMembers);
export type JobDetail = Static<typeof JobDetail>;

/** The answer to DELETE: the job as it now is, and whether it had already ended. */
export const CancellationAnswer = Type.Object({ ...jobDetailMembers, already_terminal: Type.Boolean() });
export type CancellationAnswer = Static<typeof CancellationAnswer>;

export const JobListItem = Type.Object({
  ...lifecycle,
  truncated: Type.Boolean(),
  attestation_available: Type.Boolean(),
  /** Present only if the job has labels. */
  labels: Type.Optional(Type.Array(Type.String())),
  first_line: Type.Optional(
    Type.String({
      description:
        'The first line of the code that has a letter or a digit and does not begin with `#!`: its printable part, cut at 120 characters. Absent if there is none, and in jobs of older versions.',
    }),
  ),
});
export type JobListItem = Static<typeof JobListItem>;

export const JobList = Type.Object({
  items: Type.Array(JobListItem),
  next_cursor: Nullable(Type.String({ description: 'Null on the last page.' })),
});
export type JobList = Static<typeof JobList>;

export const Artifact = Type.Object({
  path: Type.String(),
  content_base64: Type.String(),
  size_bytes: Type.Integer(),
  sha256: Sha256,
});
export type Artifact = Static<typeof Artifact>;

/** The folded result: the exact text that the program wrote, up to the recording caps. */
export const FoldedResult = Type.Object({
  job_id: JobId,
  status: Type.Enum([...JOB_STATUSES]),
  exit_code: Nullable(Type.Integer()),
  duration_ms: Nullable(Type.Integer()),
  stdout: Type.String(),
  stderr: Type.String(),
  truncated: Type.Boolean(),
  violations: Type.Array(Violation),
  artifacts: Type.Array(Artifact),
  large_outputs: Type.Optional(LargeOutputRecords),
});
export type FoldedResult = Static<typeof FoldedResult>;

/** The answer to POST /v1/jobs: the address of the new (or the earlier) job. URLs are relative. */
export const SubmissionAnswer = Type.Object({
  job_id: JobId,
  /** The status at acceptance, even if the idempotency key names a job that has since ended. */
  status: Type.Literal('queued'),
  created_at: Timestamp,
  stream_url: RelativeUrl,
  history_url: RelativeUrl,
  result_url: RelativeUrl,
  /** Present if the submission has an interactor. */
  interaction: Type.Optional(Interaction),
});
export type SubmissionAnswer = Static<typeof SubmissionAnswer>;

export const StreamTicket = Type.Object({
  ticket: Type.String(),
  stream_url: RelativeUrl,
  expires_at: Timestamp,
  expires_in: Type.Integer(),
});
export type StreamTicket = Static<typeof StreamTicket>;

/**
 * The answer to a submission that may wait and may request more members. `status` is the status at acceptance, even if there is a
 * result. Other requested members come with the result; the promise and the ticket may also come without a result.
 */
export const AwaitedSubmission = Type.Object({
  ...SubmissionAnswer.properties,
  result: Type.Optional(FoldedResult),
  receipt: Type.Optional(AnyReceipt),
  detail: Type.Optional(JobDetail),
  history: Type.Optional(ReplayPage),
  /** The canonical form (RFC 8785) of this object was signed. */
  promise: Type.Optional(DsseEnvelope),
  stream_ticket: Type.Optional(StreamTicket),
});
export type AwaitedSubmission = Static<typeof AwaitedSubmission>;

/** A page of events. The last page also has the requested members about the outcome of the job. */
export const EndingPage = Type.Object({
  ...ReplayPage.properties,
  result: Type.Optional(FoldedResult),
  receipt: Type.Optional(AnyReceipt),
});
export type EndingPage = Static<typeof EndingPage>;

/** The last frame of a stream, sent if requested: the requested members about the outcome of the job. */
export const EndFrame = Type.Object({ result: Type.Optional(FoldedResult), receipt: Type.Optional(AnyReceipt) });
export type EndFrame = Static<typeof EndFrame>;
