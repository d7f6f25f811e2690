/**
 * Reads the report of process 1 about the program's end. Process 1 writes it to a directory that no job can write to,
 * or to the launcher.
 */
import { parseWaitStatus, type WaitStatus } from '../program/ending.ts';
import type { Workspace } from '../program/output/workspace.ts';

/** How a job ended and in which phase. The status is null if process 1 died before it could report. */
export interface EndingReport {
  readonly status: WaitStatus | null;
  /** Whether the compiler was running; the status is then the compiler's. */
  readonly isCompiling: boolean;
}

/** The report of process 1 is one line and shorter than this. */
const REPORT_BYTES_MAX = 256;
/** Reports are padded to one length. */
const PADDING = / +\n$/;
const COMPILING = /^compiling\n$/;
const COMPILER_ENDED = /^compiler /;

export function readEnding(report: Workspace): EndingReport {
  return parseEnding(report.read('ending', REPORT_BYTES_MAX)?.toString('latin1') ?? '');
}

/** Reads the last report of process 1: one line, or nothing. */
export function parseEnding(line: string): EndingReport {
  const text = line.replace(PADDING, '\n');
  return {
    status: parseWaitStatus(text.replace(COMPILER_ENDED, '')),
    isCompiling: COMPILING.test(text) || COMPILER_ENDED.test(text),
  };
}
