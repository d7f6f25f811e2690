/** The receipt of a job: digested observations. Spec § Receipt. */

import { StoredBuild, StoredProduct } from './builds.ts';
import { ArtifactRecord, EffectiveLimitsSchema } from './events.ts';
import { ISOLATION_CLASSES } from './isolation.ts';
import { LIMIT_NAMES } from './limits.ts';
import { BACKENDS, NETWORKING, SECCOMP_MODES } from './posture.ts';
import { ACCOUNTS, type OBSERVED_MEMBERS, OUTPUT_ENCODING } from './receipt-format.ts';
import { JobId, Sha256, Timestamp } from './spellings.ts';
import { TERMINAL_REASONS, TERMINAL_STATUSES } from './status.ts';
import { Interaction, RequestedLimitsSchema } from './submission.ts';
import { ToolLimitsSchema } from './tools.ts';
import { Each, Nullable, type Static, type TObject, type TSchema, Type } from './type.ts';

export const LimitEnforcementSchema = Each(LIMIT_NAMES, Type.Boolean());

/** Evidence of the recorded output: counts and digests over the retained `text` strings, joined by one LF. */
export const OutputEvidence = Type.Object({
  encoding: Type.Literal(OUTPUT_ENCODING),
  stdout_bytes: Type.Integer(),
  stdout_records: Type.Integer(),
  stdout_sha256: Sha256,
  stderr_bytes: Type.Integer(),
  stderr_records: Type.Integer(),
  stderr_sha256: Sha256,
});
export type OutputEvidence = Static<typeof OutputEvidence>;

/** The executor's counts of one stream before anything was stored; these counts are never comparable with `output`. */
export const StreamTelemetry = Type.Object({
  bytes_seen: Type.Integer(),
  bytes_offered_to_sink: Type.Integer(),
  records_offered_to_sink: Type.Integer(),
  raw_sha256: Sha256,
  executor_truncated: Type.Boolean(),
});
export type StreamTelemetry = Static<typeof StreamTelemetry>;

export const ExecutorOutput = Type.Object({ stdout: StreamTelemetry, stderr: StreamTelemetry });
export type ExecutorOutput = Static<typeof ExecutorOutput>;

/** The part of another program's output that this program got as standard input. It is always the beginning of that output. */
export const DeliveredInput = Type.Object({ bytes_delivered: Type.Integer(), raw_sha256: Sha256 });
export type DeliveredInput = Static<typeof DeliveredInput>;

/**
 * How a program's part in an interaction ended: before the other program's part, after it, or at a wall limit while both programs
 * waited for each other.
 */
export const INTERACTION_ENDS = ['first', 'second', 'deadlock'] as const;

/** The observations of an interaction; absent if the program did not run. */
export const ObservedInteraction = Type.Object({ stdin: DeliveredInput, end: Type.Enum([...INTERACTION_ENDS]) });
export type ObservedInteraction = Static<typeof ObservedInteraction>;

const { stdin, end } = ObservedInteraction.properties;
export const ReceiptInteraction = Type.Object({
  ...Interaction.properties,
  stdin: Type.Optional(stdin),
  end: Type.Optional(end),
});

/** Observed wall time, CPU time and memory; a member is null if it could not be read. */
export const ResourceUsage = Type.Object({
  wall_ms: Nullable(Type.Integer()),
  cpu_ms: Nullable(Type.Integer()),
  memory_peak_bytes: Nullable(Type.Integer()),
});
export type ResourceUsage = Static<typeof ResourceUsage>;

/** The observed usage of the program alone, without its compiler; absent if the program did not run or was not observed. */
export const ProgramUsage = Type.Object({ ...ResourceUsage.properties, account: Type.Enum([...ACCOUNTS]) });
export type ProgramUsage = Static<typeof ProgramUsage>;

/** A summary of the chain at the terminal transaction. An auditor can recompute every link. Spec § Events 8. */
export const EventChain = Type.Object({
  hash_version: Type.Integer(),
  genesis: Sha256,
  head: Sha256,
  count: Type.Integer(),
  complete: Type.Boolean({ description: 'No unhashed event was stored. Not a verification: recompute every link.' }),
});
export type EventChain = Static<typeof EventChain>;

/** The cell's runtime, under its own name. */
export const RuntimeIdentity = Type.Object({
  name: Type.String(),
  version: Nullable(Type.String()),
  platform: Nullable(Type.String()),
});
export type RuntimeIdentity = Static<typeof RuntimeIdentity>;

/** How and when a job ended, as its receipt and its result artifact state it. */
export const endMembers = {
  status: Type.Enum([...TERMINAL_STATUSES]),
  exit_code: Nullable(Type.Integer()),
  signal: Nullable(Type.String()),
  /** Null for a job that ended before reasons were recorded. */
  terminal_reason: Nullable(Type.Enum([...TERMINAL_REASONS])),
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  finished_at: Timestamp,
  duration_ms: Nullable(Type.Integer()),
};

/** Members of every receipt, including a recovery receipt. */
const outcomeMembers = {
  schema_version: Type.Integer(),
  job_id: JobId,
  tenant: Type.String(),
  ...endMembers,
  event_chain: EventChain,
  receipt_sha256: Sha256,
};

/** Members about the job's submission and record; absent from a recovery receipt. */
const recordMembers = {
  language: Type.String(),
  runtime: Nullable(Type.String()),
  code_sha256: Sha256,
  stdin_sha256: Nullable(Sha256),
  /** The digests of `args` and of `env` as canonical JSON (RFC 8785); null if the job was given none. */
  args_sha256: Nullable(Sha256),
  env_sha256: Nullable(Sha256),
  policy_sha256: Sha256,
  requested_limits: RequestedLimitsSchema,
  /** `build` is present only if the job compiled and did not run; `product` only if the job started what another job compiled. */
  build: Type.Optional(StoredBuild),
  product: Type.Optional(StoredProduct),
  /** Only for a job that asked for fixed hash seeds. */
  reproducible: Type.Optional(Type.Literal(true)),
  /** Only for a job whose submission asked for signed labels. */
  labels: Type.Optional(Type.Array(Type.String())),
  /** Only for a job whose program may call tools. */
  tool_limits: Type.Optional(ToolLimitsSchema),
  /** Only for a job whose program talks to the program of another job. */
  interaction: Type.Optional(ReceiptInteraction),
  truncated: Type.Boolean(),
  output: OutputEvidence,
  input_artifacts: Type.Array(ArtifactRecord),
  output_artifacts: Type.Array(ArtifactRecord),
  /** Absent unless the submission asked for large outputs. */
  large_outputs: Type.Array(ArtifactRecord),
};

/** What an executor observed. These members are omitted if executor provenance is unknown. */
export const executionMembers = {
  bootstrap_ready: Type.Boolean(),
  backend: Type.Enum([...BACKENDS]),
  runtime_identity: RuntimeIdentity,
  runtime_pack: Nullable(Type.Object({ name: Type.String(), version: Type.String(), digest: Type.String() })),
  isolation_class: Nullable(Type.Enum([...ISOLATION_CLASSES])),
  private_rootfs: Type.Boolean(),
  dedicated_bootstrap: Type.Boolean(),
  seccomp: Nullable(Type.Enum([...SECCOMP_MODES])),
  no_new_privileges: Nullable(Type.Boolean()),
  capabilities: Nullable(Type.String({ description: 'The effective set as hex, 0 when empty.' })),
  network_allowed: Nullable(Type.Boolean()),
  networking: Nullable(Type.Enum([...NETWORKING])),
  effective_limits: EffectiveLimitsSchema,
  limit_enforcement: LimitEnforcementSchema,
  host_posture_sha256: Nullable(Sha256),
  resource_usage: Type.Optional(ResourceUsage),
  program_usage: Type.Optional(ProgramUsage),
  executor_output: Type.Optional(ExecutorOutput),
} satisfies Record<(typeof OBSERVED_MEMBERS)[number] | UsageMember, TSchema>;

/** Facts about a program that are known only after its end. */
export type UsageMember = 'resource_usage' | 'program_usage' | 'executor_output';

/** What is observed about a cell before the program's usage and output are known. */
export type ObservedMembers = Pick<Static<TObject<typeof executionMembers>>, (typeof OBSERVED_MEMBERS)[number]>;

const optional = Type.Partial(Type.Object({ ...recordMembers, ...executionMembers }));

/**
 * A receipt as stored and served. An absent member has a meaning: a recovery receipt has only the outcome, and the receipt of a
 * job that reached no executor has no execution members.
 */
export const Receipt = Type.Object({ ...outcomeMembers, ...optional.properties });
export type Receipt = Static<typeof Receipt>;

const { tenant, ...otherOutcomeMembers } = outcomeMembers;

/**
 * A receipt as served: from this version, or from v0.3. A receipt from v0.3 is kept unchanged and may lack the tenant.
 */
export const AnyReceipt = Type.Object({
  ...otherOutcomeMembers,
  tenant: Type.Optional(tenant),
  ...optional.properties,
});
export type AnyReceipt = Static<typeof AnyReceipt>;
