/**
 * Ends jobs whose programs never ran because the service failed or the observed cell had less than the job demands.
 */
import { satisfiesIsolation, type Violation } from '@vouchbox/protocol';
import {
  BootstrapError,
  type LoadedCell,
  NO_LIMITS_HELD,
  type Posture,
  unreadyPosture,
} from '../../sandbox/sandbox.ts';
import { PAIR_SLOTS } from '../../store/records/rows.ts';
import { errorOutcome, type Outcome } from '../finish/outcome.ts';
import { end, executionRecord, type JobContext } from './run-program.ts';

/** Why a program is not run, and how its job ends. */
export interface FailureBeforeRun {
  readonly error: unknown;
  readonly outcome: Outcome;
  /** Null if no executor was involved. */
  readonly posture: Posture | null;
  readonly violations: readonly Violation[];
}

/**
 * Checks a job against the observed posture of its cell and the service's present bounds. The bounds may have changed since the
 * job was admitted. Null if the job may have the cell. Spec § POST /v1/jobs 3.
 */
export function unfitFor(observed: Posture, { spec, memory }: JobContext): FailureBeforeRun | null {
  const posture = unreadyPosture(observed.backend, observed.runtime_identity);
  const isolation = observed.isolation_class ?? 'none';
  if (!satisfiesIsolation(isolation, spec.requirements.minimum_isolation)) {
    const error = new Error(`observed isolation ${isolation} is less than the job demands`);
    return { error, outcome: errorOutcome('isolation_unsatisfied'), posture, violations: [] };
  }
  const { product } = spec;
  if (product !== undefined && observed.runtime_pack?.digest !== product.pack_digest) {
    const error = new Error('the product was built with another version of the runtime pack');
    return { error, outcome: errorOutcome('bootstrap_failed'), posture, violations: [] };
  }
  // The client was told the job's limits, so they cannot be lowered now. The job cannot run.
  const excess = memory.excess(spec.limits.mem_mb * (spec.interaction === undefined ? 1 : PAIR_SLOTS));
  if (excess === null) return null;
  const error = new Error(excess.message);
  return { error, outcome: errorOutcome('bootstrap_failed'), posture, violations: [excess] };
}

/** Checks a job against the limits that its cell enforces now. Null if the cell enforces every limit that the job demands. */
export function unheldFor({ posture: observed, held }: LoadedCell, { spec }: JobContext): FailureBeforeRun | null {
  const missing = (spec.requirements.enforced ?? []).filter((name) => !held.limit_enforcement[name]);
  if (missing.length === 0) return null;
  const posture = unreadyPosture(observed.backend, observed.runtime_identity);
  const error = new Error(`the cell does not hold ${missing.join(', ')}, as the job demands`);
  return { error, outcome: errorOutcome('isolation_unsatisfied'), posture, violations: [] };
}

export function failureOf(error: unknown): FailureBeforeRun {
  return error instanceof BootstrapError
    ? { error, outcome: errorOutcome('bootstrap_failed'), posture: error.posture, violations: [] }
    : { error, outcome: errorOutcome('internal_error'), posture: null, violations: [] };
}

/**
 * Ends a job whose program cannot be run. If the job was stopped before it started, its row stays as it is: the job is
 * cancelled, or queued for the service's next start. If no cell can be made at all, the job stays queued until one can be
 * made. If other cells can be made, the job itself counts as the cause of the failure.
 */
export async function endWithoutRun(context: Omit<JobContext, 'spec'>, failure: FailureBeforeRun): Promise<void> {
  const { log, key, control, cells, giveUp } = context;
  const { error, outcome, posture, violations } = failure;
  if (control.cause !== null && !control.started) return;
  if (giveUp.aborted) throw error;
  if (error instanceof BootstrapError && !(await cells.proven())) {
    log.warn({ err: error, job_id: key.job_id }, 'a job waits: no cell can be made');
    return;
  }
  const step = error instanceof BootstrapError ? error.step : null;
  log.error({ err: error, job_id: key.job_id, step }, 'a job could not be run');
  const execution = posture === null ? null : executionRecord({ posture, held: NO_LIMITS_HELD });
  await end(context, { outcome, duration_ms: null, execution, collection: null, violations });
}
