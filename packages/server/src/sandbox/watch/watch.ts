/**
 * Holds the limits that the kernel does not: the wall clock, the CPU time of a whole process tree, and the end of
 * everything once one process of it was killed for want of memory. They are watched, and programs are killed, on a thread
 * of their own: no limit is late because the service is busy. Spec § Limits; decisions: outcomes.
 */
import { Worker } from 'node:worker_threads';
import { type Breach, Verdict, type Watched, type WatchMessage } from './watch-messages.ts';

export type { Breach } from './watch-messages.ts';

export interface WatchOptions {
  readonly watched: Watched;
  readonly wallSeconds: number;
  /**
   * How much CPU time the group may use on how many cores, and what its counter said before the program; null where there is no
   * group. Its memory events count then, too.
   */
  readonly cpu: { readonly seconds: number; readonly cores: number; readonly microsecondsBefore: number } | null;
}

/** Starts counting when it is made, which is the moment a program is released. */
export class Watch implements Disposable {
  static #lastId = 0;

  readonly #id = ++Watch.#lastId;
  readonly #hasGroup: boolean;
  readonly #startedNanoseconds = process.hrtime.bigint();
  readonly #verdict = new Verdict();

  constructor({ watched, wallSeconds, cpu }: WatchOptions) {
    this.#hasGroup = cpu !== null;
    tell({
      kind: 'watch',
      id: this.#id,
      watched,
      startedNanoseconds: this.#startedNanoseconds,
      wallMilliseconds: wallSeconds * 1000,
      cpuMillisecondsMax: cpu === null ? null : cpu.seconds * 1000,
      cpuMicrosecondsBefore: cpu?.microsecondsBefore ?? 0,
      cores: cpu?.cores ?? 1,
      verdict: this.#verdict.shared,
    });
  }

  /** Takes the end of the program for the service. False where a limit has ended it, or will have at any moment. */
  close(): boolean {
    return this.#verdict.close();
  }

  /** The limit that ended the program; null where none did. Does not change any more once the program has ended. */
  get breach(): Breach | null {
    return this.#verdict.found;
  }

  /** Until now, or until a limit ended the program. */
  wallMilliseconds(): number {
    const ended = this.#verdict.foundNanoseconds ?? process.hrtime.bigint();
    return Number(ended - this.#startedNanoseconds) / 1_000_000;
  }

  /** No limit ends the program from now on. The thread looks at a group soon, and is told where it would not. */
  [Symbol.dispose](): void {
    this.#verdict.close();
    if (!this.#hasGroup) tell({ kind: 'forget', id: this.#id });
  }
}

let thread: Worker | undefined;

/** One thread for all programs of this process, started with the first of them. It does not keep the process alive. */
function tell(message: WatchMessage): void {
  thread ??= startThread();
  thread.postMessage(message);
}

/** Without the thread nothing holds a limit: its death is the service's, and every program ends with that. */
function startThread(): Worker {
  const worker = new Worker(new URL('./watch-thread.ts', import.meta.url), { execArgv: [] });
  worker.on('error', (cause) => {
    throw new Error('the thread that watches limits died', { cause });
  });
  worker.unref();
  return worker;
}
