/**
 * What an interrupt means to a command that must clean up after itself: the first asks it to end in order, whatever it
 * is about; the second ends it at once.
 */
import { EXIT } from './exit-code.ts';

export interface Interrupts extends Disposable {
  /** Aborts with the first interrupt. */
  readonly asked: AbortSignal;
}

/** A terminal that goes away interrupts too. */
const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Takes the interrupts of this process over until it is disposed. */
export function takeInterrupts(): Interrupts {
  const controller = new AbortController();
  const onInterrupt = () => {
    if (controller.signal.aborted) process.exit(EXIT.cancelled);
    controller.abort();
  };
  for (const signal of INTERRUPTS) process.on(signal, onInterrupt);
  return {
    asked: controller.signal,
    [Symbol.dispose]() {
      for (const signal of INTERRUPTS) process.off(signal, onInterrupt);
    },
  };
}
