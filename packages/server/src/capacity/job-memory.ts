/**
 * Memory for jobs: whether a job fits beside the jobs in flight, and whether it alone exceeds the bound on all jobs
 * together. A job alone can exceed the bound because the operator may lower the bound while the job is queued.
 */
import type { Violation } from '@vouchbox/protocol';

export interface JobMemoryOptions {
  /** The bound in MiB on the memory limits of all jobs in flight together, including the memory of their cells. */
  readonly concurrentMemMbMax: number;
  /** MiB that a cell needs in addition to its job's memory limit. A job that runs alone may still use its whole limit. */
  readonly cellMemMb: number;
}

export class JobMemory {
  readonly mbMax: number;
  readonly #cellMb: number;

  constructor({ concurrentMemMbMax, cellMemMb }: JobMemoryOptions) {
    this.mbMax = concurrentMemMbMax;
    this.#cellMb = cellMemMb;
  }

  /**
   * Whether a job may be launched beside others. A job that exceeds the bound by itself may always be launched: it ends without
   * running, and so delays no other job.
   */
  fits(mem_mb: number, beside: readonly { readonly mem_mb: number }[]): boolean {
    const held = beside.reduce((sum, other) => sum + this.#heldBy(other.mem_mb), 0);
    const own = this.#heldBy(mem_mb);
    return held === 0 || own === 0 || held + own <= this.mbMax;
  }

  /** The refusal of a job that needs more memory than all jobs may have together; null for any other job. */
  excess(mem_mb: number): Violation | null {
    if (mem_mb <= this.mbMax) return null;
    const message = `mem_mb ${mem_mb} is more than all jobs of this service may have together (${this.mbMax})`;
    return { type: 'memory', message, limit: this.mbMax, observed: mem_mb };
  }

  #heldBy(mem_mb: number): number {
    return this.excess(mem_mb) === null ? mem_mb + this.#cellMb : 0;
  }
}
