/**
 * Writes the lines of one turn of the event loop in one piece: a busy service pays for one write instead of one per
 * request. Nothing is held beyond the turn, and nothing is lost if the process ends in it.
 */
import type { DestinationStream } from 'pino';

/** A destination for lines, and a function that flushes it. */
export interface LineBatch extends DestinationStream {
  flushSync(): void;
}

/** Batches lines for `destination`. `atTurnsEnd` calls a function once at the end of this turn. */
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
