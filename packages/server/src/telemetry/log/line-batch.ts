/**
 * Hands on in one piece what is logged in one turn of the event loop: a busy service then pays for one write where it
 * would pay for one per request. Nothing is held beyond the turn, and nothing is lost where the process ends in it.
 */
import type { DestinationStream } from 'pino';

/** A place for lines, and a way to have what it holds handed on now. */
export interface LineBatch extends DestinationStream {
  flushSync(): void;
}

/** Batches lines for `destination`. `atTurnsEnd` has a function called once at the end of this turn. */
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
