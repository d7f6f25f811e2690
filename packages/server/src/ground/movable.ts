/** Large bytes are handed over to another thread and not copied; whoever hands them over has them no more. */

/** Handing over a small buffer costs more than copying it. */
const movedBytesMin = 64 * 1024;

/** The buffers of these bytes that are worth handing over. A buffer that holds anything else is copied. */
export function movable(...parts: readonly Uint8Array[]): ArrayBuffer[] {
  return parts.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && byteLength >= movedBytesMin ? [buffer] : [],
  );
}

/** Gives the memory of bytes back at once, which else waits for the collector. Nobody may have them any more. */
export function giveBack({ buffer }: Uint8Array<ArrayBuffer>): void {
  if (buffer.byteLength >= movedBytesMin) buffer.transfer(0);
}
