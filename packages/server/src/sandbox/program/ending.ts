/**
 * Decides how a program ended and which limits it breached, from these facts: who killed it, what the kernel counted,
 * and what process 1 of its cell reported. An exit code alone proves nothing: any program may exit with 137.
 */
import { constants } from 'node:os';
import type { EffectiveLimits, Violation } from '@vouchbox/protocol';
import type { Ending, StopCause } from '../sandbox.ts';
import type { Breach } from './watch/watch.ts';

/** How the program's own process ended, from waitpid(2). */
export type WaitStatus = { readonly exitCode: number } | { readonly signal: string };

/** All facts about an end. `status` is null if process 1 died before it could report one. */
export interface EndingFacts {
  readonly stopCause: StopCause | null;
  readonly breach: Breach | null;
  readonly oomKills: number;
  readonly status: WaitStatus | null;
  /** Whether the end came before the compiler had succeeded. The status is then the compiler's: the program never ran. */
  readonly isCompiling: boolean;
  /** Whether this is a build whose product was handed over. A build never runs the program itself. */
  readonly hasProduct: boolean;
  /** Whether the program was ended because it passed a bound on its tool calls. */
  readonly hasToolBreach: boolean;
  /** Whether all processes together have used up their CPU time. If not, no signal came from that limit. */
  readonly isCpuTimeUsedUp: boolean;
  /** The runtime's message for the operator, if the runtime failed. */
  readonly diagnostics: string;
}

/** Counts from the program's run, and facts found after its end. */
export interface Counters {
  readonly wallMilliseconds: number;
  readonly cpuMilliseconds: number;
  readonly processesRefused: number;
  /** Tool calls that nobody had answered. */
  readonly callsOpen: number;
  /** Whether a file below `/work` is exactly as large as a file may become. */
  readonly hasFullFile: boolean;
}

/** The names of signals. Some numbers have two names (SIGABRT is also SIGIOT); the first one listed is the usual one. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/** The signals that the kernel sends at the soft and the hard limit of a process's CPU time: setrlimit(2), RLIMIT_CPU. */
const CPU_SIGNALS: ReadonlySet<string> = new Set(['SIGXCPU', 'SIGKILL']);

/** Decides how a program ended. A kill for lack of memory comes before all other causes: later events may be its consequence. */
export function endingOf(facts: EndingFacts): Ending {
  if (facts.oomKills > 0) return { kind: 'memory_limit' };
  if (facts.breach !== null) return { kind: facts.breach };
  if (facts.stopCause !== null) return { kind: 'stopped', cause: facts.stopCause };
  if (facts.hasToolBreach) return { kind: 'signaled', signal: 'SIGKILL' };
  if (facts.status === null)
    return { kind: 'runtime_failed', message: facts.diagnostics || 'its end was not observed' };
  const { status, isCpuTimeUsedUp } = facts;
  const isCompiling = facts.isCompiling && !facts.hasProduct;
  if ('signal' in status && CPU_SIGNALS.has(status.signal) && isCpuTimeUsedUp) return { kind: 'cpu_limit' };
  // The kernel may end one process of a compiler for its CPU time. The compiler's own process then exits with a code.
  if (isCompiling && isCpuTimeUsedUp) return { kind: 'cpu_limit' };
  if (isCompiling) return { kind: 'compile_failed', how: describe(status) };
  return 'exitCode' in status
    ? { kind: 'exited', exit_code: status.exitCode }
    : { kind: 'signaled', signal: status.signal };
}

function describe(status: WaitStatus): string {
  if ('exitCode' in status && status.exitCode === 0) return 'left no product';
  return 'exitCode' in status ? `exited with ${status.exitCode}` : `was ended by ${status.signal}`;
}

/** Marks the violations as the compiler's. */
export function inCompilation(violations: readonly Violation[]): Violation[] {
  return violations.map((violation) => ({ ...violation, phase: 'compile' }));
}

/** Reads what process 1 of a cell wrote: `exited CODE` or `signaled NUMBER` on one line; null for anything else. */
export function parseWaitStatus(report: string): WaitStatus | null {
  const [, how, value] = report.match(/^(exited|signaled) (\d+)\n$/) ?? [];
  if (how === undefined) return null;
  return how === 'exited' ? { exitCode: Number(value) } : { signal: SIGNAL_NAMES.get(Number(value)) ?? `SIG${value}` };
}

/** The breached limits, as data for `violation` events. A limit that was not in force cannot be breached. */
export function violationsOf(ending: Ending, counters: Counters, limits: EffectiveLimits): Violation[] {
  const violations: Violation[] = [];
  const add = (violation: Violation): void => void violations.push(violation);
  if (counters.processesRefused > 0 && limits.max_pids !== null) {
    const message = `a new process was refused: ${limits.max_pids} may be alive at once`;
    add({ type: 'pids', message, limit: limits.max_pids });
  }
  if (ending.kind === 'compile_failed') {
    add({ type: 'compile', message: `the compiler ${ending.how}: the program did not run` });
  }
  if (ending.kind === 'memory_limit' && limits.mem_mb !== null) {
    add({ type: 'memory', message: `more than ${limits.mem_mb} MiB of memory were needed`, limit: limits.mem_mb });
  }
  if (ending.kind === 'memory_limit' && limits.mem_mb === null) {
    const message =
      'its processes used more memory than the limit, which nothing enforces on this host: it is only watched';
    add({ type: 'memory', message });
  }
  if (ending.kind === 'wall_limit' && limits.wall_seconds !== null) {
    const observed = counters.wallMilliseconds / 1000;
    add({
      type: 'wall_time',
      message: `the wall clock ran out${openCalls(counters)}`,
      limit: limits.wall_seconds,
      observed: thousandths(observed),
    });
  }
  if (ending.kind === 'cpu_limit' && limits.cpu_seconds !== null) {
    const observed = counters.cpuMilliseconds / 1000;
    add({
      type: 'cpu_time',
      message: 'the CPU time ran out',
      limit: limits.cpu_seconds,
      observed: thousandths(observed),
    });
  }
  if (limits.max_file_mb !== null) {
    const { max_file_mb: limit } = limits;
    if (ending.kind === 'signaled' && ending.signal === 'SIGXFSZ') {
      add({ type: 'file_size', message: `a file grew past ${limit} MiB`, limit });
    } else if (counters.hasFullFile) {
      add({ type: 'file_size', message: `a file reached ${limit} MiB, the most that one may hold`, limit });
    }
  }
  if (ending.kind === 'signaled' && ending.signal === 'SIGSYS') {
    add({ type: 'syscall', message: 'a system call was made through an entry point that is closed' });
  }
  return violations;
}

function openCalls({ callsOpen }: Counters): string {
  if (callsOpen === 0) return '';
  return callsOpen === 1 ? ' while a call of a tool was open' : ` while ${callsOpen} calls of tools were open`;
}

function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}
