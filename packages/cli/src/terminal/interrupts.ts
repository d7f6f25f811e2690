/**
 * What interrupts mean for a command that must clean up. The first one asks the command to end in order; the second one ends it
 * at once. If the reader of stdout goes away, as `head` does, that counts as an interrupt.
 */
import { EXIT } from '../failures/exit-code.ts';

export interface Interrupts extends Disposable {
  /** Aborts at the first interrupt. */
  readonly asked: AbortSignal;
}

/** Closing the terminal is an interrupt, too. */
const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let areTaken = false;

/** Takes over this process's interrupts until the returned object is disposed of. */
export function takeInterrupts(): Interrupts {
  const controller = new AbortController();
  const onInterrupt = () => {
    if (controller.signal.aborted) process.exit(EXIT.cancelled);
    controller.abort();
  };
  const onBrokenPipe = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') controller.abort();
  };
  areTaken = true;
  process.stdout.on('error', onBrokenPipe);
  for (const signal of INTERRUPTS) process.on(signal, onInterrupt);
  return {
    asked: controller.signal,
    [Symbol.dispose]() {
      areTaken = false;
      process.stdout.off('error', onBrokenPipe);
      for (const signal of INTERRUPTS) process.off(signal, onInterrupt);
    },
  };
}

/** If the reader of stdout goes away, that is no failure: this process ends at once unless a command has to clean up. */
export function endOnBrokenPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (!areTaken) process.exit(EXIT.ok);
  });
}

/** Resolves to the result of `work`, or to null if an interrupt made it fail. */
export async function unlessInterrupted<Result>(
  asked: AbortSignal,
  work: (asked: AbortSignal) => Promise<Result>,
): Promise<Result | null> {
  try {
    return await work(asked);
  } catch (error) {
    if (asked.aborted) return null;
    throw error;
  }
}

/** Resolves once the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
