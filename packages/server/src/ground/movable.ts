/** Large bytes are moved to another thread and not copied; the sender no longer has them. */

/** Moving a small buffer costs more than copying it. */
const movedBytesMin = 64 * 1024;

/** The buffers of these bytes that are worth moving. A buffer that holds anything else is copied. */
export function movable(...parts: readonly Uint8Array[]): ArrayBuffer[] {
  return parts.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && byteLength === buffer.byteLength && byteLength >= movedBytesMin ? [buffer] : [],
  );
}

/** Frees the memory of bytes at once, which otherwise waits for the collector. Nobody may use them afterwards. */
export function giveBack({ buffer }: Uint8Array<ArrayBuffer>): void {
  if (buffer.byteLength >= movedBytesMin) buffer.transfer(0);
}
