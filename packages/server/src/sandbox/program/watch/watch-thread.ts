/**
 * The thread that watches limits. Its timers and kills never wait for the service. The thread gets a message when a program is
 * released, and learns from the verdict that the program was collected. A program that ends before any limit could be reached
 * costs no check. A program that ended by itself breaks no limit afterwards, however late it is collected.
 */
import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { IdleMemory } from '../../../ground/idle-memory.ts';
import type { Group } from '../../kernel/cgroup/cgroup.ts';
import { openGroup } from '../../kernel/cgroup/open-group.ts';
import { type Breach, Verdict, type Watched, type WatchMessage, type WatchRequest } from './watch-messages.ts';

/** How often CPU and memory events are checked: no kernel interface reports both on every host. */
const LOOK_MILLISECONDS_MAX = 100;
const LOOK_MILLISECONDS_MIN = 5;
const NANOSECONDS = 1_000_000;

/** The processes of one program: what can be read from them, and what can be done to them. */
interface Processes {
  readonly group: Group | null;
  isAlive(): boolean;
  kill(): void;
}

class Watching {
  readonly #request: WatchRequest;
  readonly #verdict: Verdict;
  readonly #processes: Processes;
  #timer: NodeJS.Timeout;

  constructor(request: WatchRequest) {
    this.#request = request;
    this.#verdict = new Verdict(request.verdict);
    this.#processes = processesOf(request.watched);
    this.#timer = this.#lookIn(this.#pause(request.cpuMillisecondsMax ?? Number.POSITIVE_INFINITY));
  }

  forget(): void {
    clearTimeout(this.#timer);
  }

  #lookIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), Math.max(0, milliseconds));
  }

  #look(): void {
    if (!this.#verdict.isOpen) {
      watchings.delete(this.#request.id);
      return;
    }
    try {
      const breach = this.#breach();
      if (breach === null) this.#timer = this.#lookIn(this.#pause(this.#cpuMillisecondsLeft()));
      else if (this.#processes.isAlive() && this.#verdict.breach(breach)) this.#processes.kill();
    } catch {
      // The group is gone, or a read failed for the moment. The next check shows which.
      this.#timer = this.#lookIn(LOOK_MILLISECONDS_MAX);
    }
  }

  #breach(): Breach | null {
    const { group } = this.#processes;
    const cpuMillisecondsLeft = this.#cpuMillisecondsLeft();
    if (group !== null && (group.read('oomKills') > 0 || group.hasMoreThan(this.#memoryBytesMax())))
      return 'memory_limit';
    if (cpuMillisecondsLeft <= 0) return 'cpu_limit';
    return this.#wallMillisecondsLeft() <= 0 ? 'wall_limit' : null;
  }

  /** Processes cannot use their remaining CPU time faster than on all cores at once, so there is no need to check earlier. */
  #pause(cpuMillisecondsLeft: number): number {
    const cpuPause = cpuMillisecondsLeft / this.#request.cores;
    const pause = Math.min(Math.max(cpuPause, LOOK_MILLISECONDS_MIN), LOOK_MILLISECONDS_MAX);
    return Math.min(this.#processes.group === null ? Number.POSITIVE_INFINITY : pause, this.#wallMillisecondsLeft());
  }

  #memoryBytesMax(): number {
    const { watched } = this.#request;
    return (watched.kind === 'group' ? watched.memoryBytesMax : undefined) ?? Number.POSITIVE_INFINITY;
  }

  #wallMillisecondsLeft(): number {
    const { startedNanoseconds, wallMilliseconds } = this.#request;
    return wallMilliseconds - Number(process.hrtime.bigint() - startedNanoseconds) / NANOSECONDS;
  }

  #cpuMillisecondsLeft(): number {
    const { cpuMicrosecondsBefore, cpuMillisecondsMax } = this.#request;
    const { group } = this.#processes;
    if (group === null || cpuMillisecondsMax === null) return Number.POSITIVE_INFINITY;
    const taken = group.read('cpuMicroseconds') - cpuMicrosecondsBefore;
    this.#verdict.see(taken);
    return cpuMillisecondsMax - taken / 1000;
  }
}

function processesOf(watched: Watched): Processes {
  if (watched.kind === 'process_group') return processGroup(watched.id);
  const group = openGroup(watched.location);
  return { group, isAlive: () => group.members().length > 0, kill: () => group.kill() };
}

/** A process group whose leader is a child of the service: the kernel does not reuse its id before the service waits for it. */
function processGroup(id: number): Processes {
  return {
    group: null,
    isAlive: () => !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${id}/stat`, 'latin1')),
    kill: () => process.kill(-id, 'SIGKILL'),
  };
}

/** Collects the garbage of this thread when it is idle, for as long as the thread lives. */
new IdleMemory();

const watchings = new Map<number, Watching>();

parentPort?.on('message', (message: WatchMessage) => {
  if (message.kind === 'watch') watchings.set(message.id, new Watching(message));
  else {
    watchings.get(message.id)?.forget();
    watchings.delete(message.id);
  }
});
