/** What signals mean to `vouchbox serve`. docs/operating/start.md lists them. */
import process from 'node:process';

export interface ServiceSignals {
  /**
   * Resolves at the first signal to stop. The next one ends the process at once, with 128 plus the signal's number.
   */
  readonly stopAsked: Promise<void>;
  /** Sets the function that is called at each SIGHUP that asks for a reload. */
  onReload(reload: () => void): void;
}

/** What SIGHUP means: a service started from a terminal stops when the terminal closes; any other reloads its settings. */
export type HangUp = 'stop' | 'reload';

const STOPPING = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

/** Signals that are ignored. By default, they would end the process or open its inspector. */
const UNHEEDED = ['SIGUSR1', 'SIGUSR2'] as const;

/** Takes over the signals of this process for the rest of its life. */
export function takeServiceSignals(hangUp: HangUp): ServiceSignals {
  const first = Promise.withResolvers<void>();
  let isAsked = false;
  let reload = () => {};
  const stop = (code: number) => {
    if (isAsked) process.exit(code);
    isAsked = true;
    first.resolve();
  };
  for (const [signal, code] of STOPPING) process.on(signal, () => stop(code));
  for (const signal of UNHEEDED) process.on(signal, () => {});
  // A terminal that is closed may send the signal more than once.
  process.on('SIGHUP', () => {
    if (hangUp === 'reload') reload();
    else if (!isAsked) stop(129);
  });
  return {
    stopAsked: first.promise,
    onReload(callback) {
      reload = callback;
    },
  };
}
