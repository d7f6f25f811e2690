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

/** Whether the status of a job or of a grading is final and can no longer change. */
export function isTerminal<Status extends string>(status: Status): status is Exclude<Status, 'queued' | 'running'> {
  return status !== 'queued' && status !== 'running';
}
