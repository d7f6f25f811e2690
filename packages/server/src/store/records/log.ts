/** The log as the store keeps it. docs/decisions/0064. */
import type { LogEntryTable, LogStateTable } from '../schema.ts';

/** A head that was signed in both forms. */
export interface LogHead {
  readonly size: number;
  readonly checkpoint: string;
  readonly rekor_head: string;
}

export interface LogState extends Readonly<Pick<LogStateTable, 'host' | 'tree' | 'log_key' | 'size' | 'opening'>> {
  /** The largest signed head; null until one is signed. */
  readonly head: LogHead | null;
}

export interface LogOpening extends Pick<LogState, 'host' | 'tree' | 'log_key' | 'opening'> {
  /** The body of leaf 0. */
  readonly body: Uint8Array;
}

/** The sizes of the log, and its count of waiting statements. */
export interface LogCounts extends Readonly<Pick<LogStateTable, 'host' | 'tree' | 'size' | 'signed_size'>> {
  /** How many statements wait for their places. */
  readonly waiting: number;
}

/** The place of a job's statement in the log; `position` is null while the statement still waits for its place. */
export type LogPlace = Readonly<Pick<LogEntryTable, 'leaf_hash' | 'position'>>;
