/**
 * What an interrupt means to a command that must clean up after itself: the first asks it to end in order, whatever it
 * is about; the second ends it at once.
 */
import { EXIT } from './exit-code.ts';

export interface Interrupts extends Disposable {
  /** Aborts with the first interrupt. */
  readonly asked: AbortSignal;
}

/** Takes SIGINT and SIGTERM of this process over until it is disposed. */
export function takeInterrupts(): Interrupts {
  const controller = new AbortController();
  const onInterrupt = () => {
    if (controller.signal.aborted) process.exit(EXIT.cancelled);
    controller.abort();
  };
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onInterrupt);
  return {
    asked: controller.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onInterrupt);
    },
  };
}
