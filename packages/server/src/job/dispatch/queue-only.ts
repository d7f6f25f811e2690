/** How a node that runs no programs handles submissions: it stores them, and the fleet's executors take them. */
import type { History } from '../history.ts';
import type { Dispatcher } from './dispatcher.ts';

/** The functions of the dispatcher that other parts use. */
export interface Dispatching
  extends Pick<Dispatcher, 'admit' | 'stop' | 'lookAgain' | 'abandon' | 'inFlight' | 'isFull'>,
    AsyncDisposable {
  /** Begins to take jobs; a second call has no effect. */
  start(): void;
}

/** A dispatcher that takes no job from the queue, so it has nothing to stop or to look at. */
export function queueOnly({ admit }: Pick<History, 'admit'>): Dispatching {
  return {
    admit,
    inFlight: 0,
    isFull: true,
    start() {},
    stop() {},
    lookAgain() {},
    abandon() {},
    async [Symbol.asyncDispose]() {},
  };
}
