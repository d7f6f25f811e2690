/** A store for bytes outside the database: the operations that the service needs, and the ways in which they may fail. */

export interface ObjectStore {
  /** The name shown to operators: scheme, host, bucket and prefix, without a secret. */
  readonly name: string;
  /** Puts bytes under a key; an object that already has the key is replaced. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** All bytes of an object. If they are more than `bytesMax`, they are not all read, and the call fails as `damaged`. */
  get(key: string, bytesMax: number): Promise<Uint8Array>;
  /** How many bytes an object has. */
  size(key: string): Promise<number>;
  /** Removes an object; succeeds even if there is none. */
  remove(key: string): Promise<void>;
  /** Checks whether the store can be used now. Rejects with the reason if it cannot. */
  check(): Promise<void>;
}

/**
 * - `unreachable`: it gave no answer, or says that it cannot work now; the same request may succeed later
 * - `refused`: it does not accept the request: the address, the credentials or the rights are wrong
 * - `missing`: it has no object with this key
 * - `damaged`: the bytes of an object differ from the bytes that were put
 */
export type ObjectErrorCode = 'unreachable' | 'refused' | 'missing' | 'damaged';

/** One clear line for an operator. It has no secret and no byte of an object. */
export class ObjectError extends Error {
  override readonly name = 'ObjectError';
  readonly code: ObjectErrorCode;

  constructor(code: ObjectErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
