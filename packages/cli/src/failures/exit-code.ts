/**
 * The exit codes of `vouchbox`. `vouchbox run` exits with the program's own code. If the program did not end by itself, `run`
 * uses the codes of shells, `timeout` and container tools. A program may exit with one of these codes itself: the line on stderr
 * and the job's status tell the cases apart.
 */
import { constants } from 'node:os';
import type { JobStatus } from '@vouchbox/protocol';

export const EXIT = {
  ok: 0,
  /** The command could not be carried out. */
  failed: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** A wall or CPU limit ended the program; `timeout` uses the same code. */
  timedOut: 124,
  /** The program did not end by itself: the service refused it, failed, or could not be reached. */
  notRun: 125,
  /** The job was cancelled; shells use the same code for SIGINT. */
  cancelled: 130,
  /** The memory limit ended the program; shells use the same code for SIGKILL. */
  outOfMemory: 137,
} as const;

/** The exit codes of `vouchbox export`, which say which side failed. docs/COMMAND.md. */
export const EXPORT_EXIT = {
  ok: 0,
  /** The directory could not be written on this host. */
  failed: 1,
  usage: 2,
  /** The service, or a stopped service's data, cannot give the job: it is unknown, not signed yet, or not for this key. */
  refused: 3,
  /** The service did not answer, or its answer broke off. A later try may succeed. */
  unanswered: 4,
  /** The service's answer does not fit the request. */
  wrongAnswer: 5,
  cancelled: 130,
} as const;

/** The exit codes of `vouchbox monitor` if no interrupt ended it. docs/COMMAND.md. */
export const MONITOR_EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** In the last round, an address did not answer. */
  unanswered: 4,
  /** The log contradicts its earlier heads; `service-verify` has the same exit code for this. */
  cheated: 6,
} as const;

/** How a job ended, from its detail. */
export interface Ended {
  readonly status: JobStatus;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

/** The exit code for a job that ended. */
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

/** 128 plus the signal's number, as in shells. */
function signalCode(signal: string | null): number {
  const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1];
  return number === undefined ? EXIT.failed : 128 + number;
}
