/**
 * The body of an upload, as it arrives. Like every body, it is bounded in bytes and in time, by a permit, and by the
 * credential's life. The connection is read only as fast as the pieces are taken. All uploads together take one chunk
 * in each turn of the event loop, so that no other request waits for more than one chunk. Spec § Limits.
 */
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../ground/service-error.ts';
import type { Turns } from '../connections/turns.ts';
import { admitBody, bodyTooLarge, declaredBytes } from './admitted-body.ts';
import { ClientGone, refuseEncoded } from './body.ts';
import type { Call } from './call.ts';

export interface Upload extends Disposable {
  /** The most bytes that may arrive. If the head declares a length, this is that length. */
  readonly bytesMax: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** How many chunks all uploads take in a turn of the event loop. Hashing and copying a chunk takes a quarter of a millisecond. */
export const chunksInTurn = 1;

/**
 * Takes a permit, and tells a waiting client to continue. Disposing the upload returns the permit. All uploads share `turns`.
 *
 * @throws ServiceError `unsupported_media_type`, `payload_too_large`, or a refusal if no permit is free. The chunks reject
 * with `payload_too_large`, `body_timeout`, `unauthorized`, `tenant_capacity_exhausted`, or ClientGone
 */
export function uploadOf(call: Call<'putBlob'>, turns: Turns): Upload {
  const { raw } = call.request;
  refuseEncoded(raw);
  const { bytesMax } = call.operation.body;
  const admitted = admitBody(call);
  return {
    bytesMax: declaredBytes(raw) ?? bytesMax,
    chunks: chunksOf(raw, { bytesMax, turns, ended: rejectionOf(admitted.ended) }),
    [Symbol.dispose]: () => admitted[Symbol.dispose](),
  };
}

/** Rejects with the signal's reason. It is no error if nobody waits for this promise. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  signal.addEventListener('abort', () => reject(signal.reason as ServiceError));
  return promise;
}

async function* chunksOf(
  request: IncomingMessage,
  { bytesMax, turns, ended }: { readonly bytesMax: number; readonly turns: Turns; readonly ended: Promise<never> },
): AsyncGenerator<Uint8Array> {
  // If this loop ends early, the connection must stay open, because the refusal must still be sent.
  const arriving = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let bytes = 0;
  try {
    for (;;) {
      await new Promise<void>((resolve) => turns.ask(resolve));
      const next = await Promise.race([arriving.next(), ended]);
      if (next.done === true) return;
      bytes += next.value.length;
      if (bytes > bytesMax) throw bodyTooLarge({ bytesMax });
      yield next.value;
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : new ClientGone();
  } finally {
    request.pause();
  }
}
