/**
 * The development subprocess: a program on the bare host, for machines where no isolating provider works. It isolates
 * nothing and says so. Only the wall clock is limited. It is used only if the operator names it.
 */
import type { ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Language } from '@vouchbox/protocol';
import { once } from '../../../ground/once.ts';
import { capabilitiesOf, parseStatus, seccompOf } from '../../kernel/process-status.ts';
import { PERL } from '../../native/native.ts';
import { parseWaitStatus, type WaitStatus } from '../../program/ending.ts';
import { heapMb } from '../../program/javascript-heap.ts';
import { endWithText } from '../../program/output/fed-input.ts';
import { type Pipes, spawnWithPipes } from '../../program/output/pipes.ts';
import { Workspace } from '../../program/output/workspace.ts';
import { ProgramRun, type RunEnd } from '../../program/program-run.ts';
import { releaseWords } from '../../program/release-words.ts';
import {
  BootstrapError,
  type HeldLimits,
  type LoadedCell,
  NotReadyInTime,
  type OutputSink,
  type Posture,
  type PreparedCell,
  type Program,
  type RunningCell,
  unreadyPosture,
} from '../../sandbox.ts';

/** The program that runs the command in its arguments with real pipes, and reports how it ended on descriptor 5. */
const SUPERVISE = fileURLToPath(new URL('supervise.pl', import.meta.url));

const READY_MILLISECONDS_MAX = 10_000;
/** How long output may continue after the process group was killed: a daemon that left the group keeps its pipe open. */
const DRAIN_MILLISECONDS_MAX = 1000;

export interface HostCellOptions {
  readonly language: Language;
  /** The interpreter and its guest program. */
  readonly command: readonly string[];
  /** The cell's own directory, which does not exist yet. */
  readonly directory: string;
  /** The user to become; null if the service is not root and keeps its own user. */
  readonly uid: number | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly hasTools: boolean;
  readonly hasLibraries: boolean;
}

/** The parts of a waiting cell. */
interface Parts {
  readonly language: Language;
  readonly posture: Posture;
  readonly host: HostProcess;
  readonly pipes: Pipes;
  readonly workspace: Workspace;
  /** Everything that ends with the cell. */
  readonly held: AsyncDisposableStack;
}

export class HostCell implements PreparedCell {
  readonly language: Language;
  readonly posture: Posture;
  readonly ended: Promise<void>;
  readonly #parts: Parts;
  readonly #gone: () => Promise<void>;

  private constructor(parts: Parts, forget: () => void) {
    this.language = parts.language;
    this.posture = parts.posture;
    this.ended = parts.host.ended.then(() => {});
    this.#parts = parts;
    this.#gone = once(() => parts.held.disposeAsync().then(forget));
  }

  /**
   * Starts the interpreter and resolves when it waits. Rejects with `BootstrapError`. `forget` is called once, when
   * nothing of the cell is left.
   */
  static async prepare(options: HostCellOptions, forget: () => void): Promise<HostCell> {
    try {
      return new HostCell(await begin(options), forget);
    } catch (error) {
      const posture = unreadyPosture('subprocess', HOST_IDENTITY);
      throw new BootstrapError('bootstrap', (error as Error).message, posture, { cause: error });
    }
  }

  isWhole(): boolean {
    const { exitCode, signalCode } = this.#parts.host.child;
    return exitCode === null && signalCode === null;
  }

  memoryBytes(): number {
    const { supervisor } = this.#parts.host;
    return residentBytes(supervisor) + residentBytes(interpreterOf(supervisor));
  }

  async handOver(program: Program): Promise<LoadedCell> {
    await this.#parts.workspace.fill(program);
    const { wall_seconds } = program.limits;
    const held: HeldLimits = {
      effective_limits: { wall_seconds, cpu_seconds: null, mem_mb: null, max_pids: null, max_file_mb: null },
      limit_enforcement: { wall_seconds: true, cpu_seconds: false, mem_mb: false, max_pids: false, max_file_mb: false },
    };
    return { posture: this.posture, held, release: (sink) => this.#release(program, held, sink) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#gone();
  }

  #release(program: Program, { effective_limits }: HeldLimits, sink: OutputSink): RunningCell {
    const { host, pipes, workspace, held } = this.#parts;
    const run = new ProgramRun({
      program,
      limits: effective_limits,
      pipes,
      workspace,
      sink,
      watched: { kind: 'process_group', id: host.supervisor },
      cpu: null,
      kill: () => host.kill(),
      over: async () => endOf(await host.ended),
      drained: () => drained(pipes),
    });
    held.use(run);
    const { argumentCount, bytes } = releaseWords(program);
    host.release.write(`${heapMb(program.limits.mem_mb)} ${argumentCount}\n`);
    host.release.end(bytes);
    endWithText(program, pipes.stdin);
    return run;
  }
}

/** The end of a run. Only the wall clock is limited and measured. */
function endOf(status: WaitStatus): RunEnd {
  return {
    status,
    isCompiling: false,
    oomKills: 0,
    processesRefused: 0,
    cpuMilliseconds: null,
    memoryPeakBytes: null,
    alone: null,
    diagnostics: '',
  };
}

/** Makes the directory, starts the interpreter in it and observes the interpreter. If a step fails, nothing is left. */
async function begin(options: HostCellOptions): Promise<Parts> {
  const { directory, language } = options;
  await using held = new AsyncDisposableStack();
  held.defer(() => rm(directory, { recursive: true, force: true }));
  const work = join(directory, 'work');
  makeWork(work, options.uid);
  if (options.hasLibraries) makeOwn(join(directory, 'libraries'), options.uid);
  const workspace = held.use(new Workspace(work, 'shared'));
  const host = held.use(startIn(work, options));
  const pipes = await host.pipes;
  await ready(host);
  const posture = observeHost(interpreterOf(host.supervisor));
  return { language, posture, host, pipes, workspace, held: held.move() };
}

function makeWork(work: string, uid: number | null): void {
  for (const path of [work, join(work, 'output')]) makeOwn(path, uid);
  mkdirSync(join(work, 'input'));
}

/** A directory that the program's user may write to. */
function makeOwn(path: string, uid: number | null): void {
  mkdirSync(path, { recursive: true });
  if (uid !== null) chownSync(path, uid, uid);
}

/** A supervisor with its interpreter. Disposing kills both, and all other processes in their group. */
interface HostProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** The supervisor's process id, which is also the process group's id. */
  readonly supervisor: number;
  readonly release: Socket;
  readonly readiness: Socket;
  /** Rejects if the supervisor cannot be started. */
  readonly pipes: Promise<Pipes>;
  /** How the program ended. Never rejects. */
  readonly ended: Promise<WaitStatus>;
  /** Kills the process group. A daemon that left the group survives, because nothing here can stop it. */
  kill(): void;
}

function startIn(work: string, { command, uid, environment, hasTools }: HostCellOptions): HostProcess {
  const user = uid === null ? {} : { uid, gid: uid };
  const settings = { env: environment, cwd: work, extra: ['pipe', 'pipe', 'pipe'] as const, hasTools, ...user };
  const { child, pipes } = spawnWithPipes([PERL, SUPERVISE, hasTools ? '5' : '3', ...command], settings);
  pipes.catch(() => {}); // The code that waits for the pipes gets the error; disposing ignores it.
  const [release, readiness, report] = child.stdio.slice(3) as [Socket, Socket, Socket];
  release.on('error', () => {}); // The guest program may be dead already, and its exit reports that.
  const supervisor = child.pid ?? 0;
  // The group is killed as soon as the supervisor ends, because another group may get its id later.
  let isOver = supervisor === 0;
  const kill = () => {
    if (!isOver) killGroup(supervisor);
  };
  const over = new Promise((resolve) => child.once('exit', resolve).once('error', resolve)).then(() => {
    kill();
    isOver = true;
  });
  // If the supervisor gave no report, a program of its group or this service killed it.
  const ended = Promise.all([text(report).catch(() => ''), over]).then(
    ([said]) => parseWaitStatus(said) ?? { signal: 'SIGKILL' },
  );
  return {
    child,
    supervisor,
    release,
    readiness,
    pipes,
    ended,
    kill,
    async [Symbol.asyncDispose]() {
      kill();
      await ended;
      await pipes.then(
        (ours) => ours.destroy(),
        () => {},
      );
    },
  };
}

function killGroup(id: number): void {
  try {
    process.kill(-id, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const HOST_IDENTITY = { name: 'host', version: null, platform: null };

/** Resolves when the guest program has reported that its interpreter waits. */
async function ready({ child, readiness }: HostProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const deadline = setTimeout(() => reject(new NotReadyInTime(READY_MILLISECONDS_MAX)), READY_MILLISECONDS_MAX);
  child.once('error', reject);
  child.once('exit', () => reject(new Error('the interpreter ended before it was ready')));
  readiness.once('data', () => resolve());
  await promise.finally(() => clearTimeout(deadline));
}

/** The one process that a supervisor started. */
function interpreterOf(supervisor: number): number {
  return Number(readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8').split(' ')[0]);
}

/** Memory of a single process, without mapped files: proc(5), /proc/PID/status. */
function residentBytes(pid: number): number {
  const status = parseStatus(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number.parseInt(status.get('RssAnon') ?? '0', 10) || 0) * 1024;
}

/** The posture: nothing is isolated here, but the values that can be read from the process itself are still reported. */
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

/** Waits for the end of both streams, and gives up if a surviving process keeps one open for too long. */
async function drained(pipes: Pipes): Promise<void> {
  const deadline = setTimeout(() => pipes.destroy(), DRAIN_MILLISECONDS_MAX);
  await pipes.drained;
  clearTimeout(deadline);
  pipes.destroy();
}
