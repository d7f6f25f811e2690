/**
 * The development subprocess: a program on the bare host, for machines where no sandbox runs. It isolates nothing and says
 * so. Only the wall clock is held. It is used only where an operator asks for it by name.
 */
import type { ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Language } from '@vouchbox/protocol';
import { endingOf, parseWaitStatus, violationsOf, type WaitStatus } from '../ending.ts';
import { heapMb } from '../javascript-heap.ts';
import { capabilitiesOf, parseStatus, seccompOf } from '../oci/observe/guest-report.ts';
import { Captures } from '../output/captures.ts';
import { PERL, type Pipes, SUPERVISE, spawnWithPipes } from '../output/pipes.ts';
import { Workspace } from '../output/workspace.ts';
import { releaseWords } from '../release-words.ts';
import {
  BootstrapError,
  type Collection,
  type HeldLimits,
  NotReadyInTime,
  type OutputSink,
  type Posture,
  type Program,
  type Sandbox,
  type StopCause,
  unreadyPosture,
} from '../sandbox.ts';
import { Watch } from '../watch/watch.ts';

const READY_MILLISECONDS_MAX = 10_000;
/** How long output may go on after everything we can kill is dead: a daemon that left the group keeps its pipe open. */
const DRAIN_MILLISECONDS_MAX = 1000;

export interface HostCellOptions {
  readonly language: Language;
  /** The interpreter and its launcher. */
  readonly command: readonly string[];
  /** The cell's own directory, which does not exist yet. */
  readonly directory: string;
  /** The user to become; null if the service is not root and stays who it is. */
  readonly uid: number | null;
  readonly environment: Readonly<Record<string, string>>;
}

export class HostCell implements Sandbox {
  readonly language: Language;
  readonly #options: HostCellOptions;
  readonly #forget: (cell: HostCell) => void;
  #posture: Posture = unreadyPosture('subprocess', HOST_IDENTITY);
  #pipes: Pipes | undefined;
  #workspace: Workspace | undefined;
  #child: ChildProcess | undefined;
  /** The program's process group, as long as its id cannot be another's. */
  #group: number | undefined;
  #disposed: Promise<void> | undefined;
  #exited: Promise<void> = Promise.resolve();
  #status: WaitStatus | undefined;
  #program: Program | undefined;
  #captures: Captures | undefined;
  #watch: Watch | undefined;
  #stopCause: StopCause | null = null;

  private constructor(options: HostCellOptions, forget: (cell: HostCell) => void) {
    this.language = options.language;
    this.#options = options;
    this.#forget = forget;
  }

  /**
   * Starts the interpreter and waits until it waits. Rejects with `BootstrapError`. `forget` is called once, when nothing
   * of the cell is left.
   */
  static async prepare(options: HostCellOptions, forget: (cell: HostCell) => void): Promise<HostCell> {
    const cell = new HostCell(options, forget);
    try {
      await cell.#bootstrap();
      return cell;
    } catch (error) {
      await cell[Symbol.asyncDispose]();
      const posture = unreadyPosture('subprocess', HOST_IDENTITY);
      throw new BootstrapError('bootstrap', (error as Error).message, posture, { cause: error });
    }
  }

  get posture(): Posture {
    return this.#posture;
  }

  get ended(): Promise<void> {
    return this.#exited;
  }

  isWhole(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  memoryBytes(): number {
    const supervisor = this.#child?.pid as number;
    return residentBytes(supervisor) + residentBytes(interpreterOf(supervisor));
  }

  handOver(program: Program): Promise<HeldLimits> {
    this.#program = program;
    this.#workspace?.fill(program);
    const { wall_seconds } = program.limits;
    return Promise.resolve({
      effective_limits: { wall_seconds, cpu_seconds: null, mem_mb: null, max_pids: null, max_file_mb: null },
      limit_enforcement: { wall_seconds: true, cpu_seconds: false, mem_mb: false, max_pids: false, max_file_mb: false },
    });
  }

  release(sink: OutputSink): void {
    const { pipes, program, child } = this.#handedOver();
    this.#captures = new Captures(pipes, sink);
    const watched = { kind: 'process_group', id: child.pid as number } as const;
    this.#watch = new Watch({ watched, wallSeconds: program.limits.wall_seconds, cpu: null });
    const { argumentCount, bytes } = releaseWords(program);
    (child.stdio[3] as Socket).write(`${heapMb(program.limits.mem_mb)} ${argumentCount}\n`);
    (child.stdio[3] as Socket).end(bytes);
    if (program.stdin === null) pipes.stdin.end();
    else pipes.stdin.end(program.stdin);
  }

  stop(cause: StopCause): void {
    if (this.#stopCause !== null || this.#watch?.close() === false) return;
    this.#stopCause = cause;
    this.#killGroup();
  }

  async collect(): Promise<Collection> {
    const { pipes, program } = this.#handedOver();
    await this.#exited;
    const watch = this.#watch as Watch;
    watch[Symbol.dispose]();
    const wallMilliseconds = watch.wallMilliseconds();
    await drained(pipes);
    const status = this.#status ?? null;
    const ending = endingOf({
      stopCause: this.#stopCause,
      breach: watch.breach,
      oomKills: 0,
      status,
      isCompiling: false,
      isCpuTimeUsedUp: false,
      diagnostics: '',
    });
    const counters = { wallMilliseconds, cpuMilliseconds: 0, processesRefused: 0 };
    const outputs = this.#workspace?.collect(program.outputs) ?? { artifacts: [], violations: [] };
    return {
      ending,
      usage: { wall_ms: Math.round(wallMilliseconds), cpu_ms: null, memory_peak_bytes: null },
      output: (this.#captures as Captures).end(),
      violations: [...violationsOf(ending, counters, program.limits), ...outputs.violations],
      artifacts: outputs.artifacts,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#tearDown();
    return this.#disposed;
  }

  async #tearDown(): Promise<void> {
    this.#watch?.[Symbol.dispose]();
    this.#killGroup();
    await this.#exited;
    this.#pipes?.destroy();
    this.#workspace?.[Symbol.dispose]();
    this.#workspace = undefined;
    await rm(this.#options.directory, { recursive: true, force: true });
    this.#forget(this);
  }

  async #bootstrap(): Promise<void> {
    const { directory, uid } = this.#options;
    const work = join(directory, 'work');
    for (const path of [work, join(work, 'input'), join(work, 'output')]) mkdirSync(path, { recursive: true });
    if (uid !== null) for (const path of [work, join(work, 'output')]) chownSync(path, uid, uid);
    this.#workspace = new Workspace(work, 'shared');
    const child = await this.#start(work);
    await ready(child);
    this.#posture = observeHost(interpreterOf(child.pid as number));
  }

  async #start(work: string): Promise<ChildProcess> {
    const { command, uid, environment } = this.#options;
    const user = uid === null ? {} : { uid, gid: uid };
    const settings = { env: environment, cwd: work, extra: ['pipe', 'pipe', 'pipe'] as const, ...user };
    const { child, pipes } = spawnWithPipes([PERL, SUPERVISE, ...command], settings);
    this.#child = child;
    this.#group = child.pid;
    this.#exited = this.#seeEnd(child);
    (child.stdio[3] as Socket).on('error', () => {}); // The launcher may be dead already: its exit says so.
    this.#pipes = await pipes;
    return child;
  }

  /**
   * Where the supervisor gave no report, a program of its group or this service killed it. Whoever it left in its group is
   * killed as soon as it has ended: later the id of that group may be another's.
   */
  async #seeEnd(child: ChildProcess): Promise<void> {
    const over = new Promise((resolve) => child.once('exit', resolve).once('error', resolve)).then(() => {
      this.#killGroup();
      this.#group = undefined;
    });
    const [report] = await Promise.all([text(child.stdio.at(5) as Socket).catch(() => ''), over]);
    this.#status = parseWaitStatus(report) ?? { signal: 'SIGKILL' };
  }

  #handedOver(): { pipes: Pipes; program: Program; child: ChildProcess } {
    if (this.#pipes === undefined || this.#program === undefined || this.#child === undefined) {
      throw new Error('a program must be handed over first');
    }
    return { pipes: this.#pipes, program: this.#program, child: this.#child };
  }

  /** Everything that did not leave the program's process group. A daemon that did survives: nothing here can hold it. */
  #killGroup(): void {
    if (this.#group === undefined) return;
    try {
      process.kill(-this.#group, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

const HOST_IDENTITY = { name: 'host', version: null, platform: null };

/** Resolves when the launcher has said that its interpreter is up and waiting. */
async function ready(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const deadline = setTimeout(() => reject(new NotReadyInTime(READY_MILLISECONDS_MAX)), READY_MILLISECONDS_MAX);
  child.once('error', reject);
  child.once('exit', () => reject(new Error('the interpreter ended before it was ready')));
  (child.stdio[4] as Socket).once('data', () => resolve());
  await promise.finally(() => clearTimeout(deadline));
}

/** The one process that a supervisor started. */
function interpreterOf(supervisor: number): number {
  return Number(readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8').split(' ')[0]);
}

/** Memory of a process alone, without what it maps of files: proc(5), /proc/PID/status. */
function residentBytes(pid: number): number {
  const status = parseStatus(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number.parseInt(status.get('RssAnon') ?? '0', 10) || 0) * 1024;
}

/** Nothing is isolated here; what can be read of the process itself is still said. */
function observeHost(pid: number): Posture {
  const status = parseStatus(readFileSync(`/proc/${pid}/status`, 'utf8'));
  const noNewPrivileges = status.get('NoNewPrivs');
  return {
    ...unreadyPosture('subprocess', HOST_IDENTITY),
    bootstrap_ready: true,
    isolation_class: 'none',
    seccomp: seccompOf(status),
    no_new_privileges: noNewPrivileges === undefined ? null : noNewPrivileges === '1',
    capabilities: capabilitiesOf(status),
    network_allowed: true,
    networking: 'host',
  };
}

/** Waits for the end of both streams, and gives up on them when a survivor keeps one open for too long. */
async function drained(pipes: Pipes): Promise<void> {
  const deadline = setTimeout(() => pipes.destroy(), DRAIN_MILLISECONDS_MAX);
  await pipes.drained;
  clearTimeout(deadline);
  pipes.destroy();
}
