export { DEFAULT_RETRY, type RetryPolicy, type Sleep } from './backoff.ts';
export type { ExactBytes, Sha256 } from './exact-bytes.ts';
export { ServiceFailure, type ServiceFailureFields, TransportFailure, type TransportFailureReason } from './failure.ts';
export type { FollowOptions, FollowState } from './follow.ts';
export type { LegacyJobDetail, LegacyReceipt } from './legacy-types.ts';
export {
  type CallOptions,
  type ClientOptions,
  createServiceClient,
  type ListOptions,
  type MetricsOptions,
  type MetricsText,
  type ReplayOptions,
  type ServiceClient,
  type SubmitOptions,
  type Submitted,
} from './service-client.ts';
export type { WaitOptions } from './wait.ts';
