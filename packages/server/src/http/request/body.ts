/**
 * Reads the JSON body of a request that was authenticated and may make it. What can be refused from the head is refused
 * before a byte is read, also before a waiting client is told to continue. Spec § Limits.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyOperationId } from '@svc/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import type { Permit } from '../../capacity/permits.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { parseStrictJson } from '../../ground/strict-json.ts';
import type { Call } from '../call.ts';
import { hasBody } from './unread-body.ts';

/** The client went away while its request was read: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** Plain JSON; its charset may be named, since there is only one. RFC 8259 § 8.1. */
const JSON_MEDIA_TYPE = /^application\/json[\t ]*(?:;[\t ]*charset[\t ]*=[\t ]*(?:utf-8|"utf-8")[\t ]*)?;?[\t ]*$/i;

/**
 * The parsed body. A body permit is held from the first byte until it is parsed.
 *
 * @throws ServiceError `unsupported_media_type`, `payload_too_large`, `invalid_json`, `body_timeout`, `unauthorized` where
 * the credential ends meanwhile, or for want of a permit; ClientGone where the connection ended.
 */
export async function readJsonBody(call: Call<BodyOperationId<false>>): Promise<unknown> {
  checkMediaType(call.request.raw);
  using _permit = takePermit(call);
  return await parseStrictJson(await takeBytes(call), { approximateIn: 'limits' });
}

/** What the head already says to be too large holds nothing. */
function takePermit(call: Call<BodyOperationId>): Permit {
  const { bytesMax } = call.operation.body;
  if (Number(call.request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
  return call.take('body');
}

/** Tells a client that waits to go on, and reads what it sends, for as long as its credential stands. */
async function takeBytes({ request, reply, operation, caller, context }: Call<BodyOperationId>): Promise<Buffer> {
  const { bytesMax } = operation.body;
  const millisecondsMax = context.bounds.bodyMilliseconds;
  if (request.headers.expect !== undefined) reply.raw.writeContinue();
  const ended = new AbortController();
  const unwatch = context.authority.watch(caller, () => ended.abort());
  try {
    return await readBytes(request.raw, {
      bytesMax,
      millisecondsMax,
      ended: ended.signal,
      onTooLarge: () => tooLarge(bytesMax),
      onLate: () =>
        new ServiceError('body_timeout', `The body did not arrive within ${millisecondsMax / 1000} seconds.`),
    });
  } finally {
    unwatch();
  }
}

/**
 * Reads a body where none is needed: none at all, chunks of which there are none, or an empty object.
 *
 * @throws ServiceError as for any body, and `invalid_request` where it says something.
 */
export async function readEmptyBody(call: Call<BodyOperationId<true>>): Promise<void> {
  const { request } = call;
  if (!hasBody(request.raw)) return;
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  // Of chunks it is not known before they come whether there is anything that needs a media type.
  if (!isChunked) checkMediaType(request.raw);
  using _permit = takePermit(call);
  const bytes = await takeBytes(call);
  if (bytes.length === 0 && isChunked) return;
  checkMediaType(request.raw);
  const body = await parseStrictJson(bytes);
  if (JSON.stringify(body) !== '{}')
    throw new ServiceError('invalid_request', 'This operation takes no members at "".');
}

/** The refusal of a body where none is taken. */
export function bodyNotTaken(): ServiceError {
  return new ServiceError('invalid_request', 'This operation takes no body.');
}

/**
 * Resolves once a body in chunks has ended without one.
 *
 * @throws ServiceError `invalid_request` with the first byte, where the client waits to be asked for it, or where the end
 * does not come in time; ClientGone where the connection ended.
 */
export async function readNothing(request: IncomingMessage, millisecondsMax: number): Promise<undefined> {
  if (request.headers.expect !== undefined) throw bodyNotTaken();
  await readBytes(request, { bytesMax: 0, millisecondsMax, onTooLarge: bodyNotTaken, onLate: bodyNotTaken });
}

function checkMediaType({ headers }: IncomingMessage): void {
  if (headers['content-encoding'] !== undefined) {
    throw new ServiceError(
      'unsupported_media_type',
      'The body must not be encoded: drop the header "content-encoding".',
    );
  }
  if (!JSON_MEDIA_TYPE.test(headers['content-type'] ?? '')) {
    throw new ServiceError('unsupported_media_type', 'The body must be sent as "application/json".');
  }
}

interface ReadOptions {
  readonly bytesMax: number;
  readonly millisecondsMax: number;
  /** Aborted once the caller's authority has ended. */
  readonly ended?: AbortSignal;
  readonly onTooLarge: () => ServiceError;
  readonly onLate: () => ServiceError;
}

function readBytes(request: IncomingMessage, options: ReadOptions): Promise<Buffer> {
  const { bytesMax, millisecondsMax, ended, onTooLarge, onLate } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => stop(() => reject(onLate())), millisecondsMax);
    const endReading = () => stop(() => reject(unknownCredential()));
    ended?.addEventListener('abort', endReading);
    function stop(settle: () => void): void {
      clearTimeout(timer);
      ended?.removeEventListener('abort', endReading);
      request.off('data', take).off('end', end).off('close', gone);
      request.pause();
      settle();
    }
    function take(chunk: Buffer): void {
      size += chunk.length;
      if (size > bytesMax) stop(() => reject(onTooLarge()));
      else chunks.push(chunk);
    }
    function end(): void {
      stop(() => resolve(Buffer.concat(chunks, size)));
    }
    function gone(): void {
      stop(() => reject(new ClientGone()));
    }
    // Node reports a client that went away as an error as well; `close` follows and says the same.
    request.on('error', () => undefined);
    request.on('data', take).on('end', end).on('close', gone);
    if (request.destroyed) gone();
  });
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError('payload_too_large', `The body is larger than ${bytesMax} bytes.`);
}
