/** What signals ask of `svc serve`. docs/OPERATING.md lists them. */
import process from 'node:process';

export interface ServiceSignals {
  /** Resolves with the first signal to stop. The next one ends the process at once, with 128 and the signal's number. */
  readonly stopAsked: Promise<void>;
  /** Calls back with each SIGHUP that asks to read again what can be read again. */
  onReload(reload: () => void): void;
}

/** A service that was started from a terminal ends with it; for any other, SIGHUP is how a supervisor says "reload". */
export type HangUp = 'stop' | 'reload';

const STOPPING = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

/** Signals that ask for nothing here and whose default would end the process, or open its inspector. */
const UNHEEDED = ['SIGUSR1', 'SIGUSR2'] as const;

/** Takes the signals of this process over, for the rest of its life. */
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
  // A terminal that goes away may say so more than once.
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
