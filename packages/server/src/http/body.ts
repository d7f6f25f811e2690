/**
 * Reads the JSON body of a request that was authenticated and may make it. What can be refused from the head is refused
 * before a byte is read, also before a waiting client is told to continue. Spec § Limits.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { unknownCredential } from '../access/authenticate.ts';
import type { Caller } from '../caller.ts';
import type { Permits } from '../capacity/permits.ts';
import { ServiceError } from '../service-error.ts';
import { parseStrictJson } from '../strict-json.ts';
import type { AuthorityWatch } from './authority.ts';
import { hasBody } from './unread-body.ts';

export interface BodyOptions {
  readonly permits: Permits;
  /** Ends the reading once the caller's authority has ended. */
  readonly authority: Pick<AuthorityWatch, 'watch'>;
  readonly caller: Caller;
  /** Encoded bytes. */
  readonly bytesMax: number;
  readonly millisecondsMax: number;
}

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
export async function readJsonBody(
  request: FastifyRequest,
  reply: FastifyReply,
  options: BodyOptions,
): Promise<unknown> {
  checkMediaType(request.raw);
  if (Number(request.headers['content-length'] ?? 0) > options.bytesMax) throw tooLarge(options.bytesMax);
  using _permit = options.permits.take('body', options.caller.tenant);
  if (request.headers.expect !== undefined) reply.raw.writeContinue();
  const bytes = await readBytes(request.raw, options);
  return await parseStrictJson(bytes, { approximateIn: 'limits' });
}

/** Encoded bytes of a body that may be there and must say nothing. */
const emptyBodyBytesMax = 1024;

/**
 * Reads a body where none is needed: none at all, or an empty object.
 *
 * @throws ServiceError as for any body, and `invalid_request` where it says something.
 */
export async function readEmptyBody(
  request: FastifyRequest,
  reply: FastifyReply,
  options: Omit<BodyOptions, 'bytesMax'>,
): Promise<void> {
  if (!hasBody(request.raw)) return;
  const body = await readJsonBody(request, reply, { ...options, bytesMax: emptyBodyBytesMax });
  if (JSON.stringify(body) !== '{}')
    throw new ServiceError('invalid_request', 'This operation takes no members at "".');
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

function readBytes(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  const { bytesMax, millisecondsMax, authority, caller } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const late = new ServiceError('body_timeout', `The body did not arrive within ${millisecondsMax / 1000} seconds.`);
    const timer = setTimeout(() => stop(() => reject(late)), millisecondsMax);
    const unwatch = authority.watch(caller, () => stop(() => reject(unknownCredential())));
    function stop(settle: () => void): void {
      clearTimeout(timer);
      unwatch();
      request.off('data', take).off('end', end).off('close', gone);
      request.pause();
      settle();
    }
    function take(chunk: Buffer): void {
      size += chunk.length;
      if (size > bytesMax) stop(() => reject(tooLarge(bytesMax)));
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
