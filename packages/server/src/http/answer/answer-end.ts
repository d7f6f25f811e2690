/** Releases what a request holds when its answer ends: when the last byte was sent or the connection was closed. */
import type { ServerResponse } from 'node:http';

/** Calls back once, when the answer was sent or can no longer be sent. Several callbacks are called in registration order. */
export function onAnswerEnd(response: ServerResponse, callback: () => void): void {
  if (response.destroyed || response.closed) callback();
  else response.once('close', callback);
}

/** Aborts when the answer can no longer be sent, or when one of the signals aborts. Disposing it removes the listeners. */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

export function interruptionOf(response: ServerResponse, ...signals: readonly AbortSignal[]): Interruption {
  const controller = new AbortController();
  const abort = () => controller.abort();
  response.once('close', abort);
  for (const signal of signals) signal.addEventListener('abort', abort);
  if (response.destroyed || signals.some(({ aborted }) => aborted)) abort();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      response.off('close', abort);
      for (const signal of signals) signal.removeEventListener('abort', abort);
    },
  };
}
