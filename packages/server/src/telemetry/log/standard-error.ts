/**
 * Standard error as the log's destination. If the reader is gone or does not read, lines are lost, but the service is
 * never blocked: nothing here waits, and the buffer for a slow reader is bounded.
 */
import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

const STANDARD_ERROR = 2;
/** The size of the buffer for a slow reader. A line that does not fit is lost. */
export const waitingBytesMax = 1024 * 1024;

/** Writes some of the bytes and returns how many. Throws the system's error. */
export type WriteSome = (bytes: Uint8Array) => number;

/** Takes lines. If the reader has room for a line, it is written before the call returns. Never throws. */
export function standardError(
  writeSome: WriteSome = (bytes) => writeSync(STANDARD_ERROR, bytes),
): Required<Pick<DestinationStream, 'write'>> {
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  return {
    write(line) {
      const bytes = Buffer.from(line);
      waitingBytes -= writeWaiting(waiting, writeSome);
      if (waitingBytes > 0 && waitingBytes + bytes.length > waitingBytesMax) return;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      waitingBytes -= writeWaiting(waiting, writeSome);
    },
  };
}

/** Writes bytes, oldest first, until the reader takes no more. Returns how many bytes no longer need to be kept. */
function writeWaiting(waiting: Uint8Array[], writeSome: WriteSome): number {
  let done = 0;
  try {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const written = writeSome(first);
      done += written;
      if (written < first.length) waiting[0] = first.subarray(written);
      else waiting.shift();
    }
    return done;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return done;
    // Nobody reads the log any longer, so the loss cannot be reported.
    const lost = waiting.splice(0).reduce((sum, bytes) => sum + bytes.length, 0);
    return done + lost;
  }
}
