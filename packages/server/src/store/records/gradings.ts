/** The store's inputs and answers for gradings. They cross threads, so they are plain data. */
import type { ProgramStatus } from '@vouchbox/protocol';
import type { GradingKeyColumns, GradingTable } from '../schema.ts';
import type { GradedJob } from './inputs.ts';

export type GradingKey = Readonly<GradingKeyColumns>;

/** A program or a test: the part that every step needs, and the part that only its own jobs need. Both are JSON. */
export interface GradingPart {
  readonly head: string;
  readonly content: string;
}

export interface GradingAdmission extends GradingKey {
  readonly principal: string;
  readonly created_at: string;
  /** The members that all runs share, as JSON. */
  readonly common: string;
  /** A program's head has the members that the grading's owner reads. */
  readonly programs: readonly GradingPart[];
  readonly tests: readonly GradingPart[];
  /** The names by which the grading's blobs are found: uploads, and copies of outputs. */
  readonly blobs: readonly string[];
  /** Digests of uploads that have copies which no caller can name. These uploads are removed unless something needs them. */
  readonly held: readonly string[];
  readonly idempotency: { readonly key: string; readonly spec_sha256: string } | null;
  readonly queueMax: number;
  readonly tenantQueueMax: number;
}

/** A grading without its parts. */
export interface GradingRow extends Readonly<Omit<GradingTable, 'cancellation_requested' | 'last_seq' | 'common'>> {
  readonly cancellation_requested: boolean;
}

/** What is needed to continue a grading. */
export interface GradingWork extends GradingRow {
  readonly common: string;
  /** The heads of the grading's tests, in order. */
  readonly heads: readonly string[];
  readonly statuses: readonly ProgramStatus[];
  readonly languages: readonly string[];
  /** The jobs of programs that still wait for their verdict, in no particular order. */
  readonly jobs: readonly (Omit<GradedJob, 'grading_id'> & { readonly job_id: string; readonly is_ended: boolean })[];
}

/** The end of a job, for the grading that it belongs to. */
export interface GradedEnd extends GradingKey, GradedJob {
  readonly job_id: string;
  /** The test that the job ran; null if it ran none. */
  readonly test: string | null;
  readonly terminal_reason: string | null;
  readonly at: string;
  /** Whether this is the final job for a test of a program. */
  readonly isRun: boolean;
}

/** The end of a program. */
export interface ProgramEnd extends GradingKey {
  readonly program: number;
  readonly status: Exclude<ProgramStatus, 'waiting'>;
  /** The end of the program's judge, recorded together with the program's end. Absent if the program ends without a judge. */
  readonly job?: GradedEnd;
  /** The names of files that were kept for the program's judge and are no longer needed. */
  readonly held: readonly string[];
  /** The members that the program's end changes in the program's JSON for its owner. */
  readonly ended: string;
  readonly at: string;
}
