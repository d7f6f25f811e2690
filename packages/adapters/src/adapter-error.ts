/** An error answer of an adapter: the request cannot be served, or nothing ran. */
export class AdapterError extends Error {
  override readonly name = 'AdapterError';
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The member of the request that the message is about; null if it is about none. */
  readonly member: string | null;

  constructor(status: number, message: string, member: string | null = null) {
    super(message);
    this.status = status;
    this.member = member;
  }
}

/** A part of another system's interface that has no counterpart here. */
export function unsupported(member: string, why: string): AdapterError {
  return new AdapterError(422, why, member);
}
