/**
 * Turns an outcome into the terminal transaction, and retries until the transaction is stored or the process ends. If
 * the full record cannot be stored, the job ends as an error of the service, so that no job stays `running`.
 */
import type { ArtifactRecord, EventBody, Violation } from '@vouchbox/protocol';
import type { Collection } from '../../sandbox/sandbox.ts';
import type { FinishInput } from '../../store/records/inputs.ts';
import type { ExecutionRecord, JobKey } from '../../store/records/rows.ts';
import type { Log } from '../../telemetry/log/log.ts';
import type { History } from '../history.ts';
import { errorOutcome, type Outcome } from './outcome.ts';
import { persistently } from './persistently.ts';

/** Everything that is known about a job at its end. Null means that nothing was observed. */
export interface Ended {
  readonly key: JobKey;
  readonly outcome: Outcome;
  readonly finished_at: string;
  readonly duration_ms: number | null;
  readonly execution: ExecutionRecord | null;
  readonly collection: Collection | null;
  /** The signed members beside the receipt. */
  readonly also?: NonNullable<FinishInput['also']>;
  /** As in `FinishInput`. */
  readonly mayWait?: boolean;
  /** Events that were not stored during the run. They are stored first. */
  readonly unstored?: readonly EventBody[];
  /** Violations that kept the job from running. Violations during a run are in `collection`. */
  readonly violations?: readonly Violation[];
}

export interface FinishOptions {
  readonly history: Pick<History, 'finish'>;
  readonly log: Log;
  /** Aborts when the process gives up. The job is then recovered at the next start. */
  readonly signal: AbortSignal;
}

/** How often storing the full record is tried before the job is stored as an error. With pauses, this takes about 3 seconds. */
const fullAttemptsMax = 6;

/** Stores a job's end. False if the job was already terminal. Rejects only once `signal` has aborted. */
export async function finish(ended: Ended, { history, log, signal }: FinishOptions): Promise<boolean> {
  const full = finishInput(ended);
  const failed = (error: unknown) =>
    log.error({ err: error, job_id: ended.key.job_id }, 'a terminal state could not be stored');
  try {
    return await persistently(() => history.finish(full), { signal, attemptsMax: fullAttemptsMax, failed });
  } catch (error) {
    if (signal.aborted) throw error;
    const bare = finishInput(bareError(ended));
    return await persistently(() => history.finish(bare), { signal, attemptsMax: Number.POSITIVE_INFINITY, failed });
  }
}

function finishInput({ key, outcome, collection, unstored = [], violations = [], ...rest }: Ended): FinishInput {
  const { finished_at } = rest;
  return {
    tenant: key.tenant,
    job_id: key.job_id,
    ...outcome,
    ...rest,
    events: [
      ...unstored,
      ...(collection === null ? violationEvents(violations, finished_at) : closingEvents(collection, finished_at)),
    ],
    artifacts: collection?.artifacts ?? [],
    ...(collection?.largeOutputs !== undefined && { largeOutputs: collection.largeOutputs }),
    usage: collection?.usage ?? null,
    ...(collection?.programUsage !== undefined && { programUsage: collection.programUsage }),
    output: collection?.output ?? null,
    ...(collection?.interaction !== undefined && { interaction: collection.interaction }),
    recovery: false,
  };
}

/**
 * The record to store if the full one cannot be stored. It says that the job ended, when, in which posture, and what was cut.
 */
function bareError(ended: Ended): Ended {
  const unstored = (ended.unstored ?? []).filter(({ kind }) => kind === 'truncated');
  return { ...ended, outcome: errorOutcome('internal_error'), collection: null, unstored };
}

/** The events between the last output and `finished`, in the order in which they became certain. */
function closingEvents(collection: Collection, timestamp: string): EventBody[] {
  return [
    ...violationEvents(collection.violations, timestamp),
    ...fileEvents('artifact', collection.artifacts, timestamp),
    ...fileEvents('large_output', collection.largeOutputs ?? [], timestamp),
  ];
}

function fileEvents(
  kind: 'artifact' | 'large_output',
  files: readonly ArtifactRecord[],
  timestamp: string,
): EventBody[] {
  return files.map(({ path, size_bytes, sha256 }) => ({ kind, timestamp, data: { path, size_bytes, sha256 } }));
}

function violationEvents(violations: readonly Violation[], timestamp: string): EventBody[] {
  return violations.map((data) => ({ kind: 'violation', timestamp, data }));
}
