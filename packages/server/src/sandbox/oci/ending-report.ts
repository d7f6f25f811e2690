/** Reads what process 1 of a cell said of the program's end: in a directory that no job can write to, or to the launcher. */
import { parseWaitStatus, type WaitStatus } from '../ending.ts';
import type { Workspace } from '../output/workspace.ts';

/** How far a job came: what ended it, null if process 1 did not live to write it, and in which phase. */
export interface EndingReport {
  readonly status: WaitStatus | null;
  /** Whether the compiler was at work, and so the status its own. */
  readonly isCompiling: boolean;
}

/** Process 1 writes less: the one line that says how far the job is. */
const REPORT_BYTES_MAX = 256;
/** Every report is as long as the first. */
const PADDING = / +\n$/;
const COMPILING = /^compiling\n$/;
const COMPILER_ENDED = /^compiler /;

export function readEnding(report: Workspace): EndingReport {
  return parseEnding(report.read('ending', REPORT_BYTES_MAX)?.toString('latin1') ?? '');
}

/** Reads the last that process 1 said of the program: one line, or nothing. */
export function parseEnding(line: string): EndingReport {
  const text = line.replace(PADDING, '\n');
  return {
    status: parseWaitStatus(text.replace(COMPILER_ENDED, '')),
    isCompiling: COMPILING.test(text) || COMPILER_ENDED.test(text),
  };
}
