/** Reports connections that were turned away for lack of room. Each is counted, and the log gets at most one line a second. */
import type { Log } from '../../telemetry/log/log.ts';
import type { Observer } from '../../telemetry/observer.ts';

/** The shortest time between two lines. In an attack, a line for each connection would be thousands of lines a second. */
const lineMilliseconds = 1000;

export class Crowd {
  readonly #log: Log;
  readonly #observer: Pick<Observer, 'connectionRefused'>;
  #untold = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(log: Log, observer: Pick<Observer, 'connectionRefused'>) {
    this.#log = log;
    this.#observer = observer;
  }

  /** Reports a connection that was refused, or that had to give way to another. */
  turnedAway(): void {
    this.#observer.connectionRefused();
    this.#untold += 1;
    const now = performance.now();
    if (now - this.#toldAt < lineMilliseconds) return;
    this.#log.warn({ connections: this.#untold }, 'connections turned away: too many are open');
    this.#toldAt = now;
    this.#untold = 0;
  }
}
