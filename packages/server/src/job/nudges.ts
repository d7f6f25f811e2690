/**
 * Wakes code that waits for a change in the store. A nudge carries no data: the code that is woken asks the store.
 * Register first, then read, then wait. Otherwise a change between the reading and the waiting is missed.
 */
import type { RequestedSpec } from '@vouchbox/protocol';

/**
 * The topics that can change: the queue or the outbox as a whole, the events of one job, the end of one job or one grading, or
 * a request to cancel a job. `gradings` comes once some grading has more to do, and `grading …` once something happened in that
 * grading. `answers …` comes once a tool call of that job was answered. `promises` comes once a job was accepted with a
 * promise, and `promise …` once that promise is signed. `log` comes once a signed statement waits for its place in the log.
 * `contents` comes once a row has content that can be moved to the object store, and `objects` once that store answers again.
 */
export type Topic =
  | 'queue'
  | 'outbox'
  | 'log'
  | 'promises'
  | 'contents'
  | 'objects'
  | 'gradings'
  | `grading ${string}`
  | `events ${string}`
  | `end ${string}`
  | `promise ${string}`
  | `stop ${string}`
  | `answers ${string}`;

/** What a nudge is about. This decides which of several nodes is woken. */
export interface About {
  /** The queued job. A node that can run the job is woken. */
  readonly spec?: RequestedSpec;
  /** The node that runs the job. */
  readonly node?: number | null;
}

/** The next nudge for a topic. Dispose it when nothing waits for it any longer. */
export interface Nudge extends Disposable {
  /** Resolves once the nudge comes or the signal aborts; never rejects. */
  readonly arrived: Promise<void>;
}

export interface Nudges {
  /** Registers for the next nudge from this moment on. */
  next(topic: Topic, signal?: AbortSignal): Nudge;
  /** Whether anyone is registered now. */
  isAwaited(topic: Topic): boolean;
  /** Wakes everyone who is registered now. */
  send(topic: Topic, about?: About): void;
  /** Wakes every waiter, whatever its topic is. */
  sendAll(): void;
}

/** Nudges within this process. */
export function createNudges(): Nudges {
  const waiting = new Map<Topic, Set<() => void>>();
  return {
    next(topic, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => resolve();
      const others = waiting.get(topic) ?? new Set();
      waiting.set(topic, others.add(wake));
      if (signal?.aborted) wake();
      signal?.addEventListener('abort', wake, { once: true });
      return {
        arrived: promise,
        [Symbol.dispose]() {
          signal?.removeEventListener('abort', wake);
          others.delete(wake);
          if (others.size === 0 && waiting.get(topic) === others) waiting.delete(topic);
        },
      };
    },
    isAwaited: (topic) => waiting.has(topic),
    send(topic) {
      for (const wake of waiting.get(topic) ?? []) wake();
    },
    sendAll() {
      for (const wakes of waiting.values()) for (const wake of wakes) wake();
    },
  };
}
