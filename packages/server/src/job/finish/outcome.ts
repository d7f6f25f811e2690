/**
 * Translates an ending into the contract's words. Spec § States and transitions; § Receipt, lifecycle and outcome.
 */
import type { TerminalReason, TerminalStatus } from '@vouchbox/protocol';
import type { Ending, StopCause } from '../../sandbox/sandbox.ts';

/** How a job ended, as stated in every answer about the job. At most one of `exit_code` and `signal` is set. */
export interface Outcome {
  readonly status: TerminalStatus;
  readonly terminal_reason: TerminalReason;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

const STOPPED: Readonly<Record<StopCause, Outcome>> = {
  cancelled: withoutCode('cancelled', 'cancelled'),
  server_shutdown: withoutCode('error', 'server_shutdown'),
};

/** The outcome of a program that ran. A failing program is `failed`; only a failing service or runtime is `error`. */
export function outcomeOf(ending: Ending): Outcome {
  switch (ending.kind) {
    case 'exited': {
      const { exit_code } = ending;
      return { status: exit_code === 0 ? 'succeeded' : 'failed', terminal_reason: 'exited', exit_code, signal: null };
    }
    case 'signaled':
      return { status: 'failed', terminal_reason: 'signaled', exit_code: null, signal: ending.signal };
    case 'compile_failed':
      return withoutCode('failed', 'compile_failed');
    case 'wall_limit':
    case 'cpu_limit':
      return withoutCode('timed_out', ending.kind);
    case 'memory_limit':
      return withoutCode('oom_killed', 'memory_limit');
    case 'stopped':
      return STOPPED[ending.cause];
    case 'runtime_failed':
      return errorOutcome('runtime_failed');
  }
}

/** The outcome when the service fails. */
export function errorOutcome(terminal_reason: TerminalReason): Outcome {
  return withoutCode('error', terminal_reason);
}

function withoutCode(status: TerminalStatus, terminal_reason: TerminalReason): Outcome {
  return { status, terminal_reason, exit_code: null, signal: null };
}
