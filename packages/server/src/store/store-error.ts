/** Why a call to the store failed. A refusal that a caller can react to is a result, never such an error. */

export type StoreErrorCode =
  | 'full' // no space is left for the store
  | 'io' // reading or writing failed; whether the last commit succeeded is known only after reopening
  | 'corrupt' // the stored data is damaged
  | 'read_only' // the store can be read but not written
  | 'busy' // too many calls wait, or a lock was not released in time
  | 'locked' // another service holds this store
  | 'newer_schema' // a later version of the program wrote it
  | 'unrecognised' // the file is not a store of this service
  | 'unreachable' // there is no connection to the database; nothing of this call is stored, and later calls may succeed
  | 'unopenable' // the path, its permissions or its file system do not allow a store there
  | 'unavailable' // the store was closed or its thread died; this object takes no more calls
  | 'internal'; // a bug; `cause` has what was thrown

/** One clear line for an operator. The message may name the file, but never a value that was to be stored. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
