/**
 * Handles a body that nobody will read. If a socket with unread bytes is closed, the kernel resets the connection, and the answer
 * may be lost before the client has read it. So the answer is sent, then the rest of the body is discarded for a short while, and
 * then the connection is closed. RFC 9112 § 9.6.
 */
import type { IncomingMessage } from 'node:http';
import { bodyBytesMax } from '@vouchbox/protocol';

const discardMilliseconds = 2000;
/** A client that sends nothing for this long counts as having stopped. */
const quietMilliseconds = 500;

/** Whether a request's head announces a body. RFC 9112 § 6.3. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Whether bytes of the request's body are still to come. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  return !request.complete && hasBody(request);
}

/**
 * Yields an answer's body, then holds it open until the rest of the request was discarded, but for at most two seconds.
 */
export async function* beforeDiscarding(body: Buffer, request: IncomingMessage): AsyncGenerator<Buffer> {
  yield body;
  await discardRest(request);
}

function discardRest(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let discarded = 0;
    const timer = setTimeout(finish, discardMilliseconds);
    const quiet = setTimeout(finish, quietMilliseconds);
    function finish(): void {
      clearTimeout(timer);
      clearTimeout(quiet);
      request.off('data', count).off('end', finish).off('close', finish);
      resolve();
    }
    function count(chunk: Buffer): void {
      quiet.refresh();
      discarded += chunk.length;
      if (discarded > bodyBytesMax) finish();
    }
    // It is not an error if the client leaves meanwhile, because its request was already refused.
    request.on('error', finish);
    request.on('data', count).on('end', finish).on('close', finish);
    if (request.readableEnded || request.destroyed) finish();
    else request.resume();
  });
}
