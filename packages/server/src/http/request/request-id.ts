/** An id that names a request in its answer and in the log, so that a client can quote it when asking for help. */
import { randomUUID } from 'node:crypto';

/** A new id. A client's `X-Request-Id` is never used, because it could forge a line in the log. */
export function newRequestId(): string {
  return `req_${randomUUID()}`;
}
