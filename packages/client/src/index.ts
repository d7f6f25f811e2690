export { DEFAULT_RETRY, type RetryPolicy, type Sleep } from './backoff.ts';
export type { RunningHash } from './blobs.ts';
export type * from './contract-types.ts';
export type { Sha256 } from './digest.ts';
export type { ExactBytes } from './exact-bytes.ts';
export {
  type EvidenceCheck,
  EvidenceFailure,
  isAway,
  ServiceFailure,
  type ServiceFailureFields,
  TransportFailure,
  type TransportFailureReason,
} from './failure.ts';
export type { FollowOptions, FollowState } from './follow.ts';
export type {
  Checker,
  Comparison,
  GradedTest,
  GradeGroup,
  GradeOptions,
  GradeResult,
  GradeTest,
  Verdict,
} from './grade.ts';
export type {
  CallOptions,
  ListOptions,
  ReplayOptions,
  SubmitOptions,
  Submitted,
  WaitOptions,
} from './job-options.ts';
export type { JobPromise, PromiseWish } from './job-promise.ts';
export type { CreatedLink, LinkOptions } from './links.ts';
export type { LegacyJobDetail, LegacyReceipt } from './older-route.ts';
export type { Kept, ProgramSession, SessionOptions, StepOutcome, StepResult } from './program-session.ts';
export type { Transcript } from './replay-tools.ts';
export type { OnText, RunOptions, RunResult } from './run.ts';
export type { Approve, RunTools, ToolCall, ToolDefinition, ToolFunction, ToolOptions } from './run-tools.ts';
export { createServiceClient, type MetricsOptions, type MetricsText, type ServiceClient } from './service-client.ts';
export type { ClientOptions } from './session.ts';
export type { FileContent, NamedContent, ProgramOptions } from './submission.ts';
export type { StandardSchema, ToolSchema } from './tool-schema.ts';
export type { ToolCallsOptions } from './tools.ts';
export type { OpenRuns } from './turns.ts';
export type { Chain, Verified } from './verify-record.ts';
export type { Step, StepOptions, Workspace } from './workspace.ts';
