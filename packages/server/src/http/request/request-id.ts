/** Names one request in its answer, in the log, and in what a client quotes when it asks for help. */
import { randomUUID } from 'node:crypto';

/** A new id. A client's `X-Request-Id` is never used: it could forge a line of the log. */
export function newRequestId(): string {
  return `req_${randomUUID()}`;
}
