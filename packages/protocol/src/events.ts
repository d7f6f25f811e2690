/**
 * A job's history: ordered, hash-chained events, and the data for each kind of event. Consumers keep kinds that they do not know.
 * Spec § Events.
 */

import { ISOLATION_CLASSES } from './isolation.ts';
import { LIMIT_NAMES } from './limits.ts';
import { BACKENDS } from './posture.ts';
import { JobId, Sha256, Timestamp } from './spellings.ts';
import { TERMINAL_REASONS, TERMINAL_STATUSES } from './status.ts';
import { LanguageName, RequestedLimitsSchema, StoredRequirements } from './submission.ts';
import { Each, Nullable, type Static, Type } from './type.ts';

export const VIOLATION_TYPES = [
  'wall_time',
  'cpu_time',
  'memory',
  'pids',
  'file_size',
  'syscall',
  'output_missing',
  'output_kind',
  'output_size',
  'output_path',
  'output_count',
  'compile',
  'tool_call_size',
  'tool_total_size',
  'tool_calls',
  'tool_protocol',
] as const;

export const STREAM_NAMES = ['stdout', 'stderr'] as const;
export type StreamName = (typeof STREAM_NAMES)[number];

export const EffectiveLimitsSchema = Each(LIMIT_NAMES, Nullable(Type.Number()));

/** A limit that a program broke, or a refused action of the program. The members let a client react. */
export const Violation = Type.Object({
  type: Type.Enum([...VIOLATION_TYPES]),
  message: Type.String(),
  path: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Number()),
  observed: Type.Optional(Type.Number()),
  /** Present if the compiler, and not the program, caused the violation. */
  phase: Type.Optional(Type.Literal('compile')),
});
export type Violation = Static<typeof Violation>;

/** Output as recorded: one line without its newline, or a piece of a longer line, of at most 16 KiB. */
export const OutputRecord = Type.Object({
  text: Type.String(),
  /** Present if no newline followed this piece of output. */
  partial: Type.Optional(Type.Literal(true)),
});
export type OutputRecord = Static<typeof OutputRecord>;

export const ArtifactRecord = Type.Object({
  path: Type.String(),
  size_bytes: Type.Integer(),
  sha256: Sha256,
});
export type ArtifactRecord = Static<typeof ArtifactRecord>;

/**
 * Says that a stream exceeded a recording cap, how much of the stream was seen until then, and how much is kept. Each stream has
 * at most one such record, stored with its last output. The receipt's `executor_output` has the final amount. Spec § Events 6.
 */
export const Truncation = Type.Object({
  stream: Type.Enum([...STREAM_NAMES]),
  bytes_seen: Type.Integer(),
  bytes_stored: Type.Integer(),
  records_stored: Type.Integer(),
  limit_bytes: Type.Integer(),
  limit_records: Type.Integer(),
});
export type Truncation = Static<typeof Truncation>;

/** A tool call as the program wrote it. Outside the cell, the number of its event identifies the call. */
export const ToolCallRecord = Type.Object({
  /** The number that the program gave to the call. */
  call: Type.Integer({ minimum: 0 }),
  tool: Type.String(),
  arguments: Type.Unknown(),
  /** If the service refused the call, the reason that it gave to the program. Nobody can answer a refused call. */
  refused: Type.Optional(Type.String()),
});
export type ToolCallRecord = Static<typeof ToolCallRecord>;

/** A caller's answer. It has exactly one of `result` and `error`. */
export const ToolResultRecord = Type.Object({
  /** The number of the call's event. */
  call_seq: Type.Integer({ minimum: 1 }),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.String()),
  principal: Type.String(),
});
export type ToolResultRecord = Static<typeof ToolResultRecord>;

/** The data of each kind of event. */
export const EVENT_DATA = {
  queued: Type.Object({
    language: LanguageName,
    runtime: Nullable(Type.String()),
    requirements: StoredRequirements,
    limits: RequestedLimitsSchema,
  }),
  started: Type.Object({
    backend: Type.Enum([...BACKENDS]),
    isolation_class: Nullable(Type.Enum([...ISOLATION_CLASSES])),
    bootstrap_ready: Type.Boolean(),
    limits: EffectiveLimitsSchema,
  }),
  cancel_requested: Type.Object({ principal: Type.String() }),
  stdout: OutputRecord,
  stderr: OutputRecord,
  artifact: ArtifactRecord,
  large_output: ArtifactRecord,
  violation: Violation,
  truncated: Truncation,
  tool_call: ToolCallRecord,
  tool_result: ToolResultRecord,
  finished: Type.Object({
    status: Type.Enum([...TERMINAL_STATUSES]),
    exit_code: Nullable(Type.Integer()),
    signal: Nullable(Type.String()),
    terminal_reason: Type.Enum([...TERMINAL_REASONS]),
    duration_ms: Nullable(Type.Integer()),
  }),
};

export type EventKind = keyof typeof EVENT_DATA;
export type EventData<K extends EventKind> = Static<(typeof EVENT_DATA)[K]>;

/** An event before it is placed in a chain: what happened and when. */
export type EventBody = { [K in EventKind]: { kind: K; timestamp: string; data: EventData<K> } }[EventKind];

/** An event as stored, replayed and streamed. A migrated v0.1 row has `hash_version` 0 and null hashes. */
export const JobEvent = Type.Object({
  job_id: JobId,
  seq: Type.Integer({ minimum: 1 }),
  timestamp: Timestamp,
  kind: Type.String(),
  data: Type.Unknown(),
  hash_version: Type.Integer(),
  prev_hash: Nullable(Sha256),
  event_hash: Nullable(Sha256),
});
export type JobEvent = Static<typeof JobEvent>;

export const ReplayPage = Type.Object({
  events: Type.Array(JobEvent),
  next_cursor: Nullable(Type.Integer()),
});
export type ReplayPage = Static<typeof ReplayPage>;
