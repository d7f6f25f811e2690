/**
 * Enforces the limits that the kernel does not enforce: the wall clock, the CPU time of all processes together, and the end of
 * all processes once one was killed for lack of memory. A separate thread watches these limits and kills programs, so that a busy
 * service delays no limit. Spec § Limits; decisions: outcomes.
 */
import { type Breach, Verdict, type Watched } from './watch-messages.ts';
import { WatchingThread } from './watching-thread.ts';

export type { Breach } from './watch-messages.ts';

export interface WatchOptions {
  readonly watched: Watched;
  readonly wallSeconds: number;
  /**
   * The CPU time that the group may use, the number of cores, and the group's counter before the program. Null if there
   * is no group. The memory events of a group are watched, too.
   */
  readonly cpu: { readonly seconds: number; readonly cores: number; readonly microsecondsBefore: number } | null;
}

/** The watch of one program. It starts to count when it is made, at the release, and must be disposed. */
export class Watch implements Disposable {
  static #lastId = 0;

  readonly #id = ++Watch.#lastId;
  readonly #thread: WatchingThread;
  readonly #hasGroup: boolean;
  readonly #startedNanoseconds = process.hrtime.bigint();
  readonly #verdict = new Verdict();

  constructor({ watched, wallSeconds, cpu }: WatchOptions, thread = WatchingThread.ofProcess) {
    this.#thread = thread;
    this.#hasGroup = cpu !== null;
    thread.watch({
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

  /** Claims the program's end for the service. Returns false if a limit has ended the program or is about to. */
  close(): boolean {
    return this.#verdict.close();
  }

  /** The limit that ended the program; null if none did. The value no longer changes once the program has ended. */
  get breach(): Breach | null {
    return this.#verdict.found;
  }

  /** The most processor time that the thread saw while the program ran. */
  get cpuMillisecondsSeen(): number {
    return this.#verdict.cpuMicrosecondsSeen / 1000;
  }

  /** The wall time until now, or until a limit ended the program. */
  wallMilliseconds(): number {
    const ended = this.#verdict.foundNanoseconds ?? process.hrtime.bigint();
    return Number(ended - this.#startedNanoseconds) / 1_000_000;
  }

  /**
   * Ends the watch: no limit ends the program from now on. For a group, the thread soon notices this by itself; for any other
   * program, the thread gets a message.
   */
  [Symbol.dispose](): void {
    this.#verdict.close();
    this.#thread.forget(this.#id, { isTold: !this.#hasGroup });
  }
}
