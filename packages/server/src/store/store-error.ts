/** Why the ledger could not do what was asked. Refusals that callers can act on are results, never this. */

/**
 * - `full`: no space is left where the ledger is
 * - `io`: reading or writing failed; whether the last commit holds is known only after reopening
 * - `corrupt`: what is stored is damaged
 * - `read_only`: the ledger can be read and not written
 * - `busy`: more is waiting than the ledger takes, or a lock did not come free in time
 * - `locked`: another service holds this ledger
 * - `newer_schema`: a later version of the program wrote it
 * - `unrecognised`: the file is no ledger of this service
 * - `unopenable`: the path, its permissions or its file system do not allow a ledger there
 * - `unavailable`: the ledger was closed or its thread died; nothing more can be asked of this object
 * - `internal`: a bug; `cause` has what was thrown
 */
export type StoreErrorCode =
  | 'full'
  | 'io'
  | 'corrupt'
  | 'read_only'
  | 'busy'
  | 'locked'
  | 'newer_schema'
  | 'unrecognised'
  | 'unopenable'
  | 'unavailable'
  | 'internal';

/** One clear line for an operator. The message names the file at most; it never holds a value that was to be stored. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
