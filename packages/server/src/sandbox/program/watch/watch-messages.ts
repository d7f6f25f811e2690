/** The messages between the service and the thread that watches limits, and the memory that they share for each watch. */
import type { GroupLocation } from '../../kernel/cgroup/cgroup.ts';

export type Breach = 'wall_limit' | 'cpu_limit' | 'memory_limit';

/** The target of a kill: a control group, or a process group of the host if there is no control group. */
export type Watched =
  | {
      readonly kind: 'group';
      readonly location: GroupLocation;
      /** The bound on memory that the watch has to look for; absent if the kernel enforces a bound. */
      readonly memoryBytesMax?: number;
    }
  | { readonly kind: 'process_group'; readonly id: number };

export interface WatchRequest {
  readonly kind: 'watch';
  readonly id: number;
  readonly watched: Watched;
  /** The start, on the clock of `process.hrtime`, which all threads share. */
  readonly startedNanoseconds: bigint;
  readonly wallMilliseconds: number;
  /** The CPU time that the program may use; null if it is not watched. */
  readonly cpuMillisecondsMax: number | null;
  /** The group's counter of CPU time before the program was released. */
  readonly cpuMicrosecondsBefore: number;
  readonly cores: number;
  readonly verdict: SharedArrayBuffer;
}

export type WatchMessage = WatchRequest | { readonly kind: 'forget'; readonly id: number };

const OPEN = 0;
const CLOSED = 1;
const BREACHES: readonly Breach[] = ['wall_limit', 'cpu_limit', 'memory_limit'];
const FIRST_BREACH = 2;

/**
 * Decides, once, who ended a program: a limit (through the thread that watches) or the service. Each side asks before it kills,
 * and only the first to ask gets true.
 */
export class Verdict {
  readonly shared: SharedArrayBuffer;
  readonly #word: Int32Array;
  readonly #ended: BigInt64Array;
  readonly #cpu: BigInt64Array;

  constructor(shared = new SharedArrayBuffer(24)) {
    this.shared = shared;
    this.#word = new Int32Array(shared, 0, 1);
    this.#ended = new BigInt64Array(shared, 8, 1);
    this.#cpu = new BigInt64Array(shared, 16, 1);
  }

  /** The most processor time that the thread has seen, in microseconds. The count of a killed process may be lost with it. */
  get cpuMicrosecondsSeen(): number {
    return Number(Atomics.load(this.#cpu, 0));
  }

  see(cpuMicroseconds: number): void {
    Atomics.store(this.#cpu, 0, BigInt(Math.round(cpuMicroseconds)));
  }

  /** Claims the program's end for a limit. If nobody claimed it earlier, records the time and returns true. */
  breach(breach: Breach): boolean {
    const now = process.hrtime.bigint();
    if (Atomics.compareExchange(this.#word, 0, OPEN, FIRST_BREACH + BREACHES.indexOf(breach)) !== OPEN) return false;
    Atomics.store(this.#ended, 0, now);
    return true;
  }

  /** Makes sure that no limit ends the program from now on. Returns false if a limit already ended it. */
  close(): boolean {
    return Atomics.compareExchange(this.#word, 0, OPEN, CLOSED) === OPEN;
  }

  get isOpen(): boolean {
    return Atomics.load(this.#word, 0) === OPEN;
  }

  get found(): Breach | null {
    return BREACHES[Atomics.load(this.#word, 0) - FIRST_BREACH] ?? null;
  }

  /**
   * When a limit was found to be breached, on the clock of `process.hrtime`; null if no limit was, or if the thread has not
   * reported it yet.
   */
  get foundNanoseconds(): bigint | null {
    const ended = Atomics.load(this.#ended, 0);
    return ended === 0n ? null : ended;
  }
}
