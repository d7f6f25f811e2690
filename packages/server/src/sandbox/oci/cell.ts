/**
 * One cell under an OCI runtime, from an empty directory to nothing left. What it is told to do is in the bundle; what it
 * says of itself is observed; how it ended is known by who killed it, by the kernel's counters and by process 1.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Language } from '@svc/protocol';
import type { Group } from '../cgroup/cgroup.ts';
import { type Counters, endingOf, inCompilation, violationsOf } from '../ending.ts';
import { Captures } from '../output/captures.ts';
import type { Pipes } from '../output/pipes.ts';
import { Workspace } from '../output/workspace.ts';
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
import type { CellOptions } from './cell-options.ts';
import { readEnding } from './ending-report.ts';
import { GuestChannel } from './guest-channel.ts';
import { parseGuestReport } from './observe/guest-report.ts';
import { holdLimits } from './observe/hold-limits.ts';
import type { Start, StartedProcess } from './runtime/start.ts';

/** What an interpreter may use before it is handed a job. */
const BOOT_MEMORY_BYTES = 256 * 1024 * 1024;
const BOOT_PROCESSES = 64;
/** Asking takes three system calls. */
const CORES = availableParallelism();
/** What the buffers of a job's Internet sockets may hold, where they are no memory of its group. */
const SOCKET_BYTES = 16 * 1024 * 1024;
/** The part of the processors that a cell gets which nobody waits for, where others want them too. */
const AHEAD_SHARE = 1 / 16;

export class OciCell implements Sandbox {
  readonly language: Language;
  readonly #options: CellOptions;
  readonly #group: Group;
  readonly #releaseResources: () => void;
  #posture: Posture;
  #step = 'directory';
  #pipes: Pipes | undefined;
  #channel: GuestChannel | undefined;
  #workspace: Workspace | undefined;
  #report: Workspace | undefined;
  #exited: Promise<void> = Promise.resolve();
  #startSaid: () => string = () => '';
  #forget: () => void = () => {};
  #program: Program | undefined;
  #captures: Captures | undefined;
  #watch: Watch | undefined;
  #stopCause: StopCause | null = null;
  /** False where the interpreter alone needs more than the job's memory: the job ends as one that ran out of it. */
  #fits = true;
  /** Memory of the runtime in the group, which is no use of the job's. */
  #ownMemoryBytes = 0;
  /** How many processes a cell had that was made ahead; null where its own kernel says when one of them is missing. */
  #members: number | null = null;
  #isAhead = false;
  #disposed: Promise<void> | undefined;

  private constructor(options: CellOptions, releaseResources: () => void) {
    this.language = options.language;
    this.#options = options;
    this.#group = options.group;
    this.#releaseResources = releaseResources;
    this.#posture = unreadyPosture(options.runtime.backend, options.runtime.identity);
  }

  /**
   * Builds a cell up to the workload-ready boundary. Rejects with `BootstrapError`, having left nothing behind.
   * `releaseResources` is called once, when the cell is gone.
   */
  static async prepare(options: CellOptions, releaseResources: () => void): Promise<OciCell> {
    const cell = new OciCell(options, releaseResources);
    try {
      await cell.#bootstrap();
      return cell;
    } catch (error) {
      throw await cell.#failed(error);
    }
  }

  get posture(): Posture {
    return this.#posture;
  }

  get ended(): Promise<void> {
    return this.#exited;
  }

  isWhole(): boolean {
    return this.#members === null || this.#group.members().length === this.#members;
  }

  memoryBytes(): number {
    return this.#group.memoryBytes();
  }

  async handOver(program: Program): Promise<HeldLimits> {
    this.#program = program;
    const { channel } = this.#handedOver();
    try {
      this.#step = 'limits';
      this.#takeWholeShare();
      this.#step = 'files';
      this.#workspace?.fill(program);
      this.#step = 'limits';
      const { runtime } = this.#options;
      const hold = await holdLimits({ limits: program.limits, runtime, group: this.#group, channel });
      this.#fits = hold.fits;
      this.#ownMemoryBytes = hold.ownMemoryBytes;
      return hold.held;
    } catch (error) {
      throw await this.#failed(error);
    }
  }

  release(sink: OutputSink): void {
    const { pipes, channel, program } = this.#handedOver();
    this.#captures = new Captures(pipes, sink);
    this.#group.resetPeak();
    const { wall_seconds, cpu_seconds } = program.limits;
    this.#watch = new Watch({
      watched: { kind: 'group', location: this.#group.location },
      wallSeconds: wall_seconds,
      cpu: { group: this.#group, seconds: cpu_seconds, cores: CORES },
    });
    if (this.#fits && this.#stopCause === null) channel.release(program);
    else this.#group.kill();
  }

  /** The first reason to end a program is the one that counts. */
  stop(cause: StopCause): void {
    if (this.#stopCause !== null || this.#watch?.close() === false) return;
    this.#stopCause = cause;
    this.#group.kill();
  }

  async collect(): Promise<Collection> {
    const { pipes, program } = this.#handedOver();
    await this.#exited;
    const counters = this.#readCounters();
    const usage = {
      wall_ms: Math.round(counters.wallMilliseconds),
      cpu_ms: Math.round(counters.cpuMilliseconds),
      memory_peak_bytes: Math.max(0, this.#group.memoryPeakBytes() - this.#ownMemoryBytes),
    };
    const oomKills = this.#fits ? this.#group.oomKills() : 1;
    await this.#group.remove();
    await pipes.drained;
    pipes.destroy();
    const { status, isCompiling } =
      this.#report === undefined ? { status: null, isCompiling: false } : readEnding(this.#report);
    const diagnostics = this.#channel?.diagnostics ?? '';
    const isCpuTimeUsedUp = counters.cpuMilliseconds >= program.limits.cpu_seconds * 1000;
    const ending = endingOf({
      stopCause: this.#stopCause,
      breach: this.#watch?.breach ?? null,
      oomKills,
      status,
      isCompiling,
      isCpuTimeUsedUp,
      diagnostics,
    });
    const outputs = this.#workspace?.collect(program.outputs) ?? { artifacts: [], violations: [] };
    const breaches = violationsOf(ending, counters, program.limits);
    const violations = [...(isCompiling ? inCompilation(breaches) : breaches), ...outputs.violations];
    return { ending, usage, output: (this.#captures as Captures).end(), violations, artifacts: outputs.artifacts };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#tearDown();
    return this.#disposed;
  }

  async #bootstrap(): Promise<void> {
    const { loopback, runtime } = this.#options;
    this.#step = 'cgroup';
    const processes = runtime.overhead.processes(BOOT_PROCESSES);
    if (loopback && runtime.sharesHostKernel) this.#group.limitSockets(SOCKET_BYTES);
    this.#group.limit({ memoryBytes: BOOT_MEMORY_BYTES + runtime.overhead.memoryBytes, processes });
    this.#getAhead();
    this.#step = 'start';
    const started = await this.#start();
    this.#step = 'bootstrap';
    const report = await this.#ready();
    this.#step = 'observe';
    this.#observe(started, report);
    if (this.#options.aheadUntil !== undefined && runtime.sharesHostKernel)
      this.#members = this.#group.members().length;
  }

  /** Lets whatever has a job go first, until somebody waits for this cell. */
  #getAhead(): void {
    const { aheadUntil } = this.#options;
    if (aheadUntil === undefined || aheadUntil.aborted) return;
    this.#group.share(AHEAD_SHARE);
    this.#isAhead = true;
    aheadUntil.addEventListener('abort', this.#hurry, { once: true });
  }

  /** A group that is gone needs no share; what else is wrong with it is found at the hand-over. */
  readonly #hurry = (): void => {
    try {
      this.#takeWholeShare();
    } catch {}
  };

  #takeWholeShare(): void {
    if (!this.#isAhead) return;
    this.#group.share(1);
    this.#isAhead = false;
  }

  /** Resolves once the cell's pipes are ours. */
  async #start(): Promise<StartedProcess> {
    const start = this.#options.runtime.start(this.#options);
    this.#startSaid = start.said;
    this.#exited = start.exited;
    this.#forget = start.forget;
    const started = await this.#startedInTime(start);
    const channel = new GuestChannel(started.pipes);
    this.#pipes = started.pipes;
    this.#channel = channel;
    void start.exited.then(() => channel.abort(new Error('the runtime ended')));
    return started;
  }

  async #startedInTime(start: Start): Promise<StartedProcess> {
    const { readyMilliseconds } = this.#options;
    let isLate = false;
    const deadline = setTimeout(() => {
      isLate = true;
      start.abort();
    }, readyMilliseconds);
    try {
      return await start.started;
    } catch (error) {
      throw isLate ? new NotReadyInTime(readyMilliseconds) : error;
    } finally {
      clearTimeout(deadline);
    }
  }

  async #ready(): Promise<string> {
    const { readyMilliseconds } = this.#options;
    const tooLate = new NotReadyInTime(readyMilliseconds);
    const deadline = setTimeout(() => this.#channel?.abort(tooLate), readyMilliseconds);
    try {
      return await (this.#channel as GuestChannel).report();
    } finally {
      clearTimeout(deadline);
    }
  }

  #observe({ pid, work, report }: StartedProcess, said: string): void {
    const { runtime, pack, hostPostureSha256 } = this.#options;
    const observed = runtime.observe(pid, parseGuestReport(said));
    this.#workspace = new Workspace(work, 'own');
    this.#report = new Workspace(report, 'own');
    this.#posture = {
      bootstrap_ready: true,
      backend: runtime.backend,
      runtime_identity: runtime.identity,
      runtime_pack: { name: pack.name, version: pack.version, digest: pack.digest },
      host_posture_sha256: hostPostureSha256,
      ...observed,
    };
  }

  #handedOver(): { pipes: Pipes; channel: GuestChannel; program: Program } {
    if (this.#pipes === undefined || this.#channel === undefined || this.#program === undefined) {
      throw new Error('a program must be handed over first');
    }
    return { pipes: this.#pipes, channel: this.#channel, program: this.#program };
  }

  #readCounters(): Counters {
    const watch = this.#watch as Watch;
    watch[Symbol.dispose]();
    return {
      wallMilliseconds: watch.wallMilliseconds(),
      cpuMilliseconds: watch.cpuMilliseconds(),
      processesRefused: this.#group.processesRefused(),
    };
  }

  async #failed(cause: unknown): Promise<BootstrapError> {
    const { backend, identity } = this.#options.runtime;
    const step = this.#step;
    await this[Symbol.asyncDispose]();
    const { message: reason } = cause as Error;
    const said = [this.#startSaid(), this.#channel?.diagnostics ?? ''].filter((text) => !reason.includes(text));
    const message = [reason, ...said].join(': ');
    return new BootstrapError(step, message, unreadyPosture(backend, identity), { cause });
  }

  async #tearDown(): Promise<void> {
    this.#options.aheadUntil?.removeEventListener('abort', this.#hurry);
    this.#watch?.[Symbol.dispose]();
    await this.#group.remove();
    await this.#exited;
    await this.#pipes?.drained;
    this.#pipes?.destroy();
    this.#workspace?.[Symbol.dispose]();
    this.#report?.[Symbol.dispose]();
    this.#forget();
    const { directory } = this.#options;
    if (existsSync(directory)) await rm(directory, { recursive: true, force: true });
    this.#releaseResources();
  }
}
