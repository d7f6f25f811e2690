/**
 * Decides which members a receipt has. A value that was not observed is left out or null, as specified; it is never made up. So a
 * recovery receipt holds only the outcome, and a job that no executor took has no execution members. Spec § Receipt.
 */
import { GENESIS_HASH, HASH_VERSION, type UnsealedReceipt } from '@vouchbox/evidence';
import type { ArtifactRecord, EventChain, ObservedMembers, OutputEvidence } from '@vouchbox/protocol';
import { OBSERVED_MEMBERS, RECEIPT_SCHEMA_VERSION } from '@vouchbox/protocol/vocabulary';
import type { ChainedJob } from '../history/events.ts';
import type { SubmissionEvidence } from '../jobs/submission-evidence.ts';
import type { PackedFinish } from '../records/inputs.ts';
import type { ExecutionRecord } from '../records/rows.ts';

/** The facts that the terminal transaction knows about a job once everything but the receipt is stored. */
export interface TerminalFacts {
  readonly created_at: string;
  readonly started_at: string | null;
  /** The submission's evidence. Null if the row was migrated after its job had started. */
  readonly submission: SubmissionEvidence | null;
  readonly event_chain: EventChain;
  readonly truncated: boolean;
  /** The evidence of the stored `stdout` and `stderr` events. */
  readonly output: OutputEvidence;
}

/** Counts of a job's stored events, taken in the terminal transaction. */
export interface StoredEventCounts {
  readonly stored: number;
  /** How many events carry a digest of this hash version. */
  readonly hashed: number;
}

/** The summary of a chain. `complete` only compares counts of rows; it verifies no digest. Spec § Receipt, `event_chain`. */
export function eventChain(tail: Pick<ChainedJob, 'chain_head'>, { stored, hashed }: StoredEventCounts): EventChain {
  return {
    hash_version: HASH_VERSION,
    genesis: GENESIS_HASH,
    head: tail.chain_head,
    count: hashed,
    complete: hashed === stored,
  };
}

/** The receipt of a terminal job, not yet sealed. */
export function receiptOf(input: PackedFinish, facts: TerminalFacts): UnsealedReceipt {
  const outcome = outcomeMembers(input, facts);
  if (input.recovery) return outcome;
  return { ...outcome, ...recordMembers(input, facts), ...executionMembers(input) };
}

function outcomeMembers(input: PackedFinish, { created_at, started_at, event_chain }: TerminalFacts) {
  return {
    schema_version: RECEIPT_SCHEMA_VERSION,
    job_id: input.job_id,
    tenant: input.tenant,
    status: input.status,
    exit_code: input.exit_code,
    signal: input.signal,
    terminal_reason: input.terminal_reason,
    created_at,
    started_at,
    finished_at: input.finished_at,
    duration_ms: input.duration_ms,
    event_chain,
  };
}

function recordMembers(input: PackedFinish, { submission, truncated, output }: TerminalFacts) {
  const interaction = submission?.interaction;
  return {
    ...submission,
    ...(interaction !== undefined && { interaction: { ...interaction, ...input.interaction } }),
    truncated,
    output,
    output_artifacts: input.artifacts.map(recordOf),
    ...(submission?.large_outputs !== undefined && { large_outputs: (input.largeOutputs ?? []).map(recordOf) }),
  };
}

/** What a receipt says about a file. */
export function recordOf({ path, size_bytes, sha256 }: ArtifactRecord): ArtifactRecord {
  return { path, size_bytes, sha256 };
}

/** The execution members; empty if no executor observed the job. */
function executionMembers({ execution, usage, programUsage, output }: PackedFinish) {
  if (execution === null) return {};
  return {
    ...observedMembers(execution),
    ...(usage === null ? {} : { resource_usage: usage }),
    ...(programUsage !== undefined && { program_usage: programUsage }),
    ...(output === null ? {} : { executor_output: output }),
  };
}

/** The record's members that the contract names, without any others. */
function observedMembers(execution: ExecutionRecord): ObservedMembers {
  return Object.fromEntries(OBSERVED_MEMBERS.map((name) => [name, execution[name]])) as ObservedMembers;
}
