/** The state of a job, in one sentence. The job's members may have any value: a receipt may come from anybody. */
import { printable } from '../printable.ts';
import type { TerminalReason } from '../status.ts';
import { durationOf } from './amounts.ts';

const ENDS: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    exited: 'The program ended by itself',
    signaled: 'A signal ended the program',
    compile_failed: 'The program could not be compiled',
    wall_limit: 'The program took longer than its limit and was ended',
    cpu_limit: 'The program used more processor time than its limit and was ended',
    memory_limit: 'The program used more memory than its limit and was ended',
    cancelled: 'The job was cancelled',
    bootstrap_failed: 'The cell could not be prepared, so nothing ran',
    isolation_unsatisfied: 'The demanded isolation was not available, so nothing ran',
    runtime_failed: 'The runtime of the cell failed',
    server_restarted: 'The service restarted while the job ran',
    server_shutdown: 'The service was stopped while the job ran',
    internal_error: 'The service failed',
  } satisfies Record<TerminalReason, string>),
);

/** Facts about a job. A fact that is absent is not known. */
type Known = 'status' | 'terminal_reason' | 'exit_code' | 'signal' | 'duration_ms' | 'cancellation_requested';

export function endWords(job: { readonly [Name in Known]?: unknown }): string {
  const { status, terminal_reason, exit_code, signal, duration_ms, cancellation_requested } = job;
  if (status === 'queued') return 'The job waits for its turn.';
  if (status === 'running')
    return cancellation_requested === true ? 'The program is being ended.' : 'The program runs.';
  const how = ENDS.get(terminal_reason) ?? 'The job ended';
  const code = typeof exit_code === 'number' ? ` with exit code ${exit_code}` : '';
  const with_ = typeof signal === 'string' ? ` with ${printable(signal, 20)}` : code;
  const after = typeof duration_ms === 'number' ? ` after ${durationOf(duration_ms)}` : '';
  return `${how}${with_}${after}.`;
}
