/** The state of a job, in one sentence. */
import type { JobDetail, TerminalReason } from '@vouchbox/client';
import { durationOf } from './amounts.ts';

const ENDS: Readonly<Record<TerminalReason, string>> = {
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
};

type Ended = Pick<
  JobDetail,
  'status' | 'terminal_reason' | 'exit_code' | 'signal' | 'duration_ms' | 'cancellation_requested'
>;

export function endWords({
  status,
  terminal_reason,
  exit_code,
  signal,
  duration_ms,
  cancellation_requested,
}: Ended): string {
  if (status === 'queued') return 'The job waits for its turn.';
  if (status === 'running') return cancellation_requested ? 'The program is being ended.' : 'The program runs.';
  const how = terminal_reason === null ? 'The job ended' : (ENDS[terminal_reason] ?? 'The job ended');
  const with_ = signal !== null ? ` with ${signal}` : exit_code !== null ? ` with exit code ${exit_code}` : '';
  return `${how}${with_}${duration_ms === null ? '' : ` after ${durationOf(duration_ms)}`}.`;
}
