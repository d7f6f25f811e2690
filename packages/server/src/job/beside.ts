/**
 * The members that a job's signed statement has beside the receipt: the newest canary for cells like the job's cell, and
 * the build of the node that ran the job. They are fixed when the job ends, so that all signers sign the same text.
 */
import { CANARY_TENANT, type NamedCanary } from '@vouchbox/evidence';
import type { BuildDigests } from '../sandbox/native/build-digests.ts';
import type { ExecutionRecord, JobKey } from '../store/records/rows.ts';

export interface Beside {
  /** Notes that a job began in a cell. */
  used(execution: ExecutionRecord, key: Pick<JobKey, 'tenant'>): void;
  /** The members beside a receipt; undefined if there is nothing to say. */
  of(execution: ExecutionRecord | null, key: Pick<JobKey, 'tenant'>): Readonly<Record<string, unknown>> | undefined;
}

export interface BesideOptions {
  /** Null if no canaries are run. */
  readonly canaries: {
    used(execution: ExecutionRecord): void;
    newestOf(execution: ExecutionRecord): NamedCanary | null;
  } | null;
  /** Returns null until the digests are known. */
  readonly build: () => BuildDigests | null;
}

/** The members beside receipts. A canary's job does not count as a use of its pack, and its own statement names no canary. */
export function besideReceipts({ canaries, build }: BesideOptions): Beside {
  return {
    used(execution, { tenant }) {
      if (tenant !== CANARY_TENANT) canaries?.used(execution);
    },
    of(execution, { tenant }) {
      if (execution === null) return undefined;
      const canary = tenant === CANARY_TENANT ? null : (canaries?.newestOf(execution) ?? null);
      const digests = build()?.of(execution.runtime_identity?.name) ?? null;
      if (canary === null && digests === null) return undefined;
      return { ...(digests !== null && { build: digests }), ...(canary !== null && { canary }) };
    },
  };
}
