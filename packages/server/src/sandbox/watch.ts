/**
 * Holds the limits that the kernel does not: the wall clock, the CPU time of a whole process tree, and the end of
 * everything once one process of it was killed for want of memory. Spec § Limits; decisions: outcomes.
 */
import type { RequestedLimits } from '@svc/protocol';
import type { Group } from './cgroup/cgroup.ts';

/** How often CPU and memory events are looked at: no kernel interface tells of either on every host. */
const LOOK_MILLISECONDS_MAX = 100;
const LOOK_MILLISECONDS_MIN = 5;

export type Breach = 'wall_limit' | 'cpu_limit' | 'memory_limit';

export interface WatchOptions {
  readonly group: Group;
  readonly limits: RequestedLimits;
  readonly cores: number;
  /** Called at most once. */
  readonly onBreach: (breach: Breach) => void;
}

/** Starts counting when it is made, which is the moment a program is released. */
export class Watch implements Disposable {
  readonly #options: WatchOptions;
  readonly #startedAt = performance.now();
  readonly #cpuBefore: number;
  readonly #wall: NodeJS.Timeout;
  #look: NodeJS.Timeout;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#cpuBefore = options.group.cpuMicroseconds();
    this.#wall = setTimeout(() => this.#breach('wall_limit'), options.limits.wall_seconds * 1000);
    this.#look = this.#lookAgain();
  }

  wallMilliseconds(): number {
    return performance.now() - this.#startedAt;
  }

  cpuMilliseconds(): number {
    return (this.#options.group.cpuMicroseconds() - this.#cpuBefore) / 1000;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#wall);
    clearTimeout(this.#look);
  }

  /** No tree can spend its remaining CPU time faster than on every core at once, so there is no need to look earlier. */
  #lookAgain(): NodeJS.Timeout {
    const remaining = this.#options.limits.cpu_seconds * 1000 - this.cpuMilliseconds();
    const pause = Math.min(Math.max(remaining / this.#options.cores, LOOK_MILLISECONDS_MIN), LOOK_MILLISECONDS_MAX);
    return setTimeout(() => this.#lookNow(), pause);
  }

  #lookNow(): void {
    if (this.#options.group.oomKills() > 0) this.#breach('memory_limit');
    else if (this.cpuMilliseconds() >= this.#options.limits.cpu_seconds * 1000) this.#breach('cpu_limit');
    else this.#look = this.#lookAgain();
  }

  #breach(breach: Breach): void {
    this[Symbol.dispose]();
    this.#options.onBreach(breach);
  }
}
