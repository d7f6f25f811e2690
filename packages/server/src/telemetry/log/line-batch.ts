/**
 * Writes all lines from one turn of the event loop together, so that a busy service does not make one write for each request. No
 * line is held beyond its turn, and no line is lost if the process ends within the turn.
 */
import type { DestinationStream } from 'pino';

/** A destination for lines, and a function that flushes it. */
export interface LineBatch extends DestinationStream {
  flushSync(): void;
}

/** Batches lines for `destination`. `atTurnsEnd` gets a function and calls it once at the end of this turn. */
export function lineBatch(
  destination: DestinationStream,
  atTurnsEnd: (flush: () => void) => void = setImmediate,
): LineBatch {
  let lines = '';
  const flushSync = (): void => {
    if (lines === '') return;
    const held = lines;
    lines = '';
    destination.write(held);
  };
  return {
    write(line) {
      if (lines === '') atTurnsEnd(flushSync);
      lines += line;
    },
    flushSync,
  };
}
