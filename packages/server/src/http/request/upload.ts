/**
 * The body of an upload, as it arrives. It is bounded as every body is: in bytes, in time, by a permit, and by the life of
 * the credential. The connection is read only as fast as the pieces are taken. Spec § Limits.
 */
import type { IncomingMessage } from 'node:http';
import { unknownCredential } from '../../access/authenticate.ts';
import { ServiceError } from '../../ground/service-error.ts';
import type { Call } from '../call.ts';
import { bodyTooLarge, bodyTooLate, ClientGone, refuseEncoded } from './body.ts';

export interface Upload extends Disposable {
  /** The most that may come: what the head declares, if it declares a length. */
  readonly bytesMax: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Takes a permit, and tells a waiting client to continue. Disposing returns the permit.
 *
 * @throws ServiceError `unsupported_media_type`, `payload_too_large`, or for lack of a permit; the chunks reject with
 * `payload_too_large`, `body_timeout`, `unauthorized`, or ClientGone
 */
export function uploadOf(call: Call<'putBlob'>): Upload {
  const { request, reply, operation, caller, context } = call;
  refuseEncoded(request.raw);
  const { bytesMax } = operation.body;
  const declared = declaredBytes(request.raw);
  if (declared !== null && declared > bytesMax) throw bodyTooLarge(bytesMax);
  const held = new DisposableStack();
  held.use(call.take('body'));
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {});
  const { bodyMilliseconds } = context.bounds;
  const timer = setTimeout(() => ended.reject(bodyTooLate(bodyMilliseconds)), bodyMilliseconds);
  held.defer(() => clearTimeout(timer));
  held.defer(context.authority.watch(caller, () => ended.reject(unknownCredential())));
  if (request.headers.expect !== undefined) reply.raw.writeContinue();
  return {
    bytesMax: declared ?? bytesMax,
    chunks: chunksOf(request.raw, { bytesMax, ended: ended.promise }),
    [Symbol.dispose]: () => held.dispose(),
  };
}

/** Null if the body is sent in chunks, whose sum shows only at the end. */
function declaredBytes({ headers }: IncomingMessage): number | null {
  if (headers['transfer-encoding'] !== undefined) return null;
  return Number(headers['content-length'] ?? 0);
}

async function* chunksOf(
  request: IncomingMessage,
  { bytesMax, ended }: { readonly bytesMax: number; readonly ended: Promise<never> },
): AsyncGenerator<Uint8Array> {
  // The connection must outlive a refusal, which has to be answered.
  const arriving = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let bytes = 0;
  try {
    for (;;) {
      const next = await Promise.race([arriving.next(), ended]);
      if (next.done === true) return;
      bytes += next.value.length;
      if (bytes > bytesMax) throw bodyTooLarge(bytesMax);
      yield next.value;
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : new ClientGone();
  } finally {
    request.pause();
  }
}
