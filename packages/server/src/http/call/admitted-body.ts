/**
 * A body that may be read: it has a permit, and none of it was read yet. Its signal says when reading must stop: the
 * body came too late or too slowly, the credential ended, or another tenant needs the permit. Spec § Limits.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyOperationId, RequestBody } from '@vouchbox/protocol';
import { unknownCredential } from '../../access/authenticate.ts';
import { ServiceError } from '../../ground/service-error.ts';
import type { Call } from './call.ts';

/** Disposing returns the permit. */
export interface AdmittedBody extends Disposable {
  /** Aborted once the body must not be read any further. The reason is the refusal. */
  readonly ended: AbortSignal;
}

/** How often a body that was fast enough at first is checked again. */
const lookMilliseconds = 1000;

/**
 * Reserves a permit, claims it if the body is still to come, and tells a waiting client to continue.
 *
 * @throws ServiceError before a byte is read: `payload_too_large` if the head shows it, or a refusal if no permit is free
 */
export function admitBody(call: Call<BodyOperationId<false> | BodyOperationId<true>>): AdmittedBody {
  const { request, reply, operation, caller, context } = call;
  if ((declaredBytes(request.raw) ?? 0) > operation.body.bytesMax) throw bodyTooLarge(operation.body);
  const ending = new AbortController();
  const end = (refusal: ServiceError) => ending.abort(refusal);
  const held = new DisposableStack();
  const permit = held.use(call.reserve('body', end));
  // A body that came together with its head is read at once, so it needs no place.
  if (request.raw.readableLength !== declaredBytes(request.raw)) permit.claim();
  held.defer(context.authority.watch(caller, () => end(unknownCredential())));
  held.defer(watchPace(call, end));
  if (request.headers.expect !== undefined) reply.raw.writeContinue();
  return { ended: ending.signal, [Symbol.dispose]: () => held.dispose() };
}

/** The declared length; null if the body is sent in chunks, because its length is then known only at the end. */
export function declaredBytes({ headers }: IncomingMessage): number | null {
  if (headers['transfer-encoding'] !== undefined) return null;
  return Number(headers['content-length'] ?? 0);
}

/**
 * Calls `end` at the deadline. While places are scarce, calls it sooner if the body's average rate since its head is
 * below the minimum. The returned function stops the watch.
 */
function watchPace(
  { request, context }: Call<BodyOperationId<false> | BodyOperationId<true>>,
  end: (refusal: ServiceError) => void,
): () => void {
  const { bodyMilliseconds, bodyUnhurriedMilliseconds, bodyBytesPerSecond } = context.bounds;
  const { socket, readableLength } = request.raw;
  const beganAt = performance.now();
  // The first bytes of a body often arrive together with its head.
  const bytesBefore = socket.bytesRead - readableLength;
  const isSlow = (milliseconds: number) =>
    socket.bytesRead - bytesBefore < (bodyBytesPerSecond * milliseconds) / 1000 && context.permits.isCrowded('body');
  const look = () => {
    const elapsed = performance.now() - beganAt;
    const left = bodyMilliseconds - elapsed;
    if (left < 1) end(bodyTooLate(bodyMilliseconds));
    else if (isSlow(elapsed)) end(bodyTooSlow(bodyBytesPerSecond));
    else timer = setTimeout(look, Math.min(left, lookMilliseconds));
  };
  let timer = setTimeout(look, Math.min(bodyMilliseconds, bodyUnhurriedMilliseconds));
  return () => clearTimeout(timer);
}

function bodyTooLate(millisecondsMax: number): ServiceError {
  return new ServiceError('body_timeout', `The body did not arrive within ${millisecondsMax / 1000} seconds.`);
}

function bodyTooSlow(bytesPerSecond: number): ServiceError {
  const message = `The body came at less than ${bytesPerSecond} bytes a second, and others need the place.`;
  return new ServiceError('body_timeout', message);
}

export function bodyTooLarge({ bytesMax, smallerBound }: Pick<RequestBody, 'bytesMax' | 'smallerBound'>): ServiceError {
  const also = smallerBound === undefined ? '' : `, and ${smallerBound}`;
  return new ServiceError('payload_too_large', `The body is larger than ${bytesMax} bytes${also}.`);
}
