/** The log as the store keeps it. docs/decisions/0064. */
import type { LogEntryTable, LogStateTable } from '../schema.ts';

/** A head that was signed in both of its forms. */
export interface LogHead {
  readonly size: number;
  readonly checkpoint: string;
  readonly rekor_head: string;
}

export interface LogState extends Readonly<Pick<LogStateTable, 'host' | 'tree' | 'log_key' | 'size' | 'opening'>> {
  /** The largest head that was signed; null before the first. */
  readonly head: LogHead | null;
}

export interface LogOpening extends Pick<LogState, 'host' | 'tree' | 'log_key' | 'opening'> {
  /** The body of leaf 0. */
  readonly body: Uint8Array;
}

/** How far the log has come. */
export interface LogCounts extends Readonly<Pick<LogStateTable, 'host' | 'tree' | 'size' | 'signed_size'>> {
  /** How many statements wait for their places. */
  readonly waiting: number;
}

/** Where the statement of a job stands in the log; `position` is null while the statement waits for its place. */
export type LogPlace = Readonly<Pick<LogEntryTable, 'leaf_hash' | 'position'>>;
