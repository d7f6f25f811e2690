/**
 * The exit codes of `svc`. `svc run` ends with the program's own code; what is not the program's own ending has the code
 * that shells, `timeout` and container tools use for it. A program may exit with any of these itself: the line on
 * stderr, and the job's status, tell them apart.
 */
import { constants } from 'node:os';
import type { JobStatus } from '@svc/protocol';

export const EXIT = {
  ok: 0,
  /** What was asked of the command line could not be done. */
  failed: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** A wall or CPU limit ended the program; as `timeout` says it. */
  timedOut: 124,
  /** The program did not run to an end of its own: the service refused it, failed, or could not be reached. */
  notRun: 125,
  /** The job was cancelled; as a shell says it of SIGINT. */
  cancelled: 130,
  /** The memory limit ended the program; as a shell says it of SIGKILL. */
  outOfMemory: 137,
} as const;

/** How a job ended, as its detail says. */
export interface Ended {
  readonly status: JobStatus;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

/** The exit code for a job that ended, or would have. */
export function exitCodeOf({ status, exit_code, signal }: Ended): number {
  switch (status) {
    case 'succeeded':
      return EXIT.ok;
    case 'failed':
      return exit_code ?? signalCode(signal);
    case 'timed_out':
      return EXIT.timedOut;
    case 'oom_killed':
      return EXIT.outOfMemory;
    case 'cancelled':
      return EXIT.cancelled;
    case 'error':
    case 'queued':
    case 'running':
      return EXIT.notRun;
    default:
      return status satisfies never;
  }
}

/** 128 and the signal's number, as shells have it. */
function signalCode(signal: string | null): number {
  const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1];
  return number === undefined ? EXIT.failed : 128 + number;
}
