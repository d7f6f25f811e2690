/** A job's statuses and the reasons for its end. Spec § States and transitions. */

export const TERMINAL_STATUSES = ['succeeded', 'failed', 'timed_out', 'oom_killed', 'cancelled', 'error'] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export const JOB_STATUSES = ['queued', 'running', ...TERMINAL_STATUSES] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export const TERMINAL_REASONS = [
  'exited',
  'signaled',
  'compile_failed',
  'wall_limit',
  'cpu_limit',
  'memory_limit',
  'cancelled',
  'bootstrap_failed',
  'isolation_unsatisfied',
  'runtime_failed',
  'server_restarted',
  'server_shutdown',
  'internal_error',
] as const;
export type TerminalReason = (typeof TERMINAL_REASONS)[number];

/** Whether a status is final: a job never leaves it. */
export function isTerminal(status: JobStatus): status is TerminalStatus {
  return status !== 'queued' && status !== 'running';
}
