/** The log as the store keeps it. docs/decisions/0064. */
import type { LogEntryTable } from '../schema.ts';

/** A head that was signed in both of its forms. */
export interface LogHead {
  readonly size: number;
  readonly checkpoint: string;
  readonly rekor_head: string;
}

export interface LogState {
  readonly host: string;
  readonly tree: number;
  /** The public key, as `NAME+HINT+BASE64`. */
  readonly log_key: string;
  /** How many leaves have a position. The signed head may have fewer. */
  readonly size: number;
  /** The largest head that was signed; null before the first. */
  readonly head: LogHead | null;
  /** The envelope of the opening statement, which is leaf 0. */
  readonly opening: Uint8Array;
}

export interface LogOpening extends Pick<LogState, 'host' | 'tree' | 'log_key' | 'opening'> {
  /** The body of leaf 0. */
  readonly body: Uint8Array;
}

/** How far the log has come. */
export interface LogCounts extends Pick<LogState, 'host' | 'tree' | 'size'> {
  /** The number of leaves of the largest head; 0 before the first. */
  readonly signed_size: number;
  /** How many statements wait for their places. */
  readonly waiting: number;
}

/** Where the statement of a job stands in the log; `position` is null while the statement waits for its place. */
export type LogPlace = Readonly<Pick<LogEntryTable, 'leaf_hash' | 'position'>>;
