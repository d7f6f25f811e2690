/**
 * Reads the JSON body of an authenticated and allowed request. A request whose head is already wrong is refused before a
 * byte of its body is read and before a waiting client is told to continue. Spec § Limits.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyOperationId, RequestBody } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import { parseStrictJson } from '../../ground/strict-json.ts';
import { hasBody } from '../request/unread-body.ts';
import { type AdmittedBody, admitBody, bodyTooLarge } from './admitted-body.ts';
import type { Call } from './call.ts';

/** Thrown if the client left while its request was being read, so that there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

type JsonOperationId = Exclude<BodyOperationId<false>, 'putBlob'>;

/** Plain JSON. The charset may be named, since there is only one. RFC 8259 § 8.1. */
const JSON_MEDIA_TYPE = /^application\/json[\t ]*(?:;[\t ]*charset[\t ]*=[\t ]*(?:utf-8|"utf-8")[\t ]*)?;?[\t ]*$/i;

/**
 * The parsed body. A body permit is held from the first byte until the body is parsed.
 *
 * @throws ServiceError `unsupported_media_type`, `payload_too_large`, `invalid_json`, `body_timeout`; `unauthorized` if
 * the credential ends meanwhile; a refusal if no permit is free; ClientGone if the connection ended
 */
export async function readJsonBody(call: Call<JsonOperationId>): Promise<unknown> {
  checkMediaType(call.request.raw);
  using admitted = admitBody(call);
  return await parseStrictJson(await readAdmitted(call, admitted), {
    approximateIn: 'limits',
    ...boundOf(call.operation.body),
  });
}

function boundOf({ tokensMax }: RequestBody): { tokensMax?: number } {
  return tokensMax === undefined ? {} : { tokensMax };
}

function readAdmitted(
  { request, operation }: Call<JsonOperationId | BodyOperationId<true>>,
  { ended }: AdmittedBody,
): Promise<Buffer> {
  const { body } = operation;
  return readBytes(request.raw, { bytesMax: body.bytesMax, ended, onTooLarge: () => bodyTooLarge(body) });
}

/**
 * Reads a body that may be left out. It may be absent, have no chunks, or be an empty object.
 *
 * @throws ServiceError as for any body, and `invalid_request` if the body has members
 */
export async function readEmptyBody(call: Call<BodyOperationId<true>>): Promise<void> {
  const { request } = call;
  if (!hasBody(request.raw)) return;
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  // Whether a chunked body is empty is known only when it arrives. An empty body needs no media type.
  if (!isChunked) checkMediaType(request.raw);
  using admitted = admitBody(call);
  const bytes = await readAdmitted(call, admitted);
  if (bytes.length === 0 && isChunked) return;
  checkMediaType(request.raw);
  const body = await parseStrictJson(bytes);
  if (JSON.stringify(body) !== '{}')
    throw new ServiceError('invalid_request', 'This operation takes no members at "".');
}

/** The refusal if an operation that takes no body gets one. */
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
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(bodyNotTaken()), millisecondsMax);
  try {
    await readBytes(request, { bytesMax: 0, ended: late.signal, onTooLarge: bodyNotTaken });
  } finally {
    clearTimeout(timer);
  }
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
  /** Aborted once nothing more may be read. The reason is the refusal. */
  readonly ended: AbortSignal;
  readonly onTooLarge: () => ServiceError;
}

function readBytes(request: IncomingMessage, { bytesMax, ended, onTooLarge }: ReadOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const endReading = () => stop(() => reject(ended.reason as ServiceError));
    ended.addEventListener('abort', endReading);
    function stop(settle: () => void): void {
      ended.removeEventListener('abort', endReading);
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
    // If a client leaves, Node also reports an error. `close` follows and says the same.
    request.on('error', () => undefined);
    request.on('data', take).on('end', end).on('close', gone);
    if (request.destroyed) gone();
  });
}
