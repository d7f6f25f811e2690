/**
 * Reads the JSON body of a request that was authenticated and is allowed. A request whose head is already wrong is
 * refused before a byte of its body is read, and before a waiting client is told to continue. Spec § Limits.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyOperationId } from '@vouchbox/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import type { Permit } from '../../capacity/permits.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { parseStrictJson } from '../../ground/strict-json.ts';
import type { Call } from '../call.ts';
import { hasBody } from './unread-body.ts';

/** The client left while its request was read: nobody can be answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

type JsonOperationId = Exclude<BodyOperationId<false>, 'putBlob'>;

/** Plain JSON; its charset may be named, since there is only one. RFC 8259 § 8.1. */
const JSON_MEDIA_TYPE = /^application\/json[\t ]*(?:;[\t ]*charset[\t ]*=[\t ]*(?:utf-8|"utf-8")[\t ]*)?;?[\t ]*$/i;

/**
 * The parsed body. A body permit is held from the first byte until it is parsed.
 *
 * @throws ServiceError `unsupported_media_type`, `payload_too_large`, `invalid_json`, `body_timeout`, `unauthorized` if
 * the credential ends meanwhile, or for lack of a permit; ClientGone if the connection ended
 */
export async function readJsonBody(call: Call<JsonOperationId>): Promise<unknown> {
  checkMediaType(call.request.raw);
  using _permit = takePermit(call);
  return await parseStrictJson(await takeBytes(call), { approximateIn: 'limits' });
}

/** Takes none if the head shows that the body is too large. */
function takePermit(call: Call<JsonOperationId | BodyOperationId<true>>): Permit {
  const { bytesMax } = call.operation.body;
  if (Number(call.request.headers['content-length'] ?? 0) > bytesMax) throw bodyTooLarge(bytesMax);
  return call.take('body');
}

/** Tells a waiting client to continue, and reads what it sends, while its credential is valid. */
async function takeBytes({
  request,
  reply,
  operation,
  caller,
  context,
}: Call<JsonOperationId | BodyOperationId<true>>): Promise<Buffer> {
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
      onTooLarge: () => bodyTooLarge(bytesMax),
      onLate: () => bodyTooLate(millisecondsMax),
    });
  } finally {
    unwatch();
  }
}

/**
 * Reads a body that may be left out: none at all, no chunks, or an empty object.
 *
 * @throws ServiceError as for any body, and `invalid_request` if it has members
 */
export async function readEmptyBody(call: Call<BodyOperationId<true>>): Promise<void> {
  const { request } = call;
  if (!hasBody(request.raw)) return;
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  // A chunked body may be empty, which shows only when it arrives. An empty body needs no media type.
  if (!isChunked) checkMediaType(request.raw);
  using _permit = takePermit(call);
  const bytes = await takeBytes(call);
  if (bytes.length === 0 && isChunked) return;
  checkMediaType(request.raw);
  const body = await parseStrictJson(bytes);
  if (JSON.stringify(body) !== '{}')
    throw new ServiceError('invalid_request', 'This operation takes no members at "".');
}

/** The refusal of a body for an operation without one. */
export function bodyNotTaken(): ServiceError {
  return new ServiceError('invalid_request', 'This operation takes no body.');
}

/**
 * Resolves once a chunked body has ended empty.
 *
 * @throws ServiceError `invalid_request` at the first byte, if the client waits for 100 Continue, or if the end does
 * not come in time; ClientGone if the connection ended
 */
export async function readNothing(request: IncomingMessage, millisecondsMax: number): Promise<undefined> {
  if (request.headers.expect !== undefined) throw bodyNotTaken();
  await readBytes(request, { bytesMax: 0, millisecondsMax, onTooLarge: bodyNotTaken, onLate: bodyNotTaken });
}

/** @throws ServiceError `unsupported_media_type` */
export function refuseEncoded({ headers }: IncomingMessage): void {
  if (headers['content-encoding'] === undefined) return;
  throw new ServiceError('unsupported_media_type', 'The body must not be encoded: drop the header "content-encoding".');
}

function checkMediaType(request: IncomingMessage): void {
  refuseEncoded(request);
  const { headers } = request;
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
    // Node reports a client that left as an error as well; `close` follows and says the same.
    request.on('error', () => undefined);
    request.on('data', take).on('end', end).on('close', gone);
    if (request.destroyed) gone();
  });
}

export function bodyTooLate(millisecondsMax: number): ServiceError {
  return new ServiceError('body_timeout', `The body did not arrive within ${millisecondsMax / 1000} seconds.`);
}

export function bodyTooLarge(bytesMax: number): ServiceError {
  return new ServiceError('payload_too_large', `The body is larger than ${bytesMax} bytes.`);
}
