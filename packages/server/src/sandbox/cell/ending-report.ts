/**
 * Reads process 1's report of how the program ended. Process 1 sends its report to the launcher, or writes it to a directory that
 * no job can write to.
 */
import { parseWaitStatus, type WaitStatus } from '../program/ending.ts';
import type { Workspace } from '../program/output/workspace.ts';

/** Processor time and elapsed time, as reported by the kernel under which process 1 runs. */
export interface Taken {
  readonly cpuMicroseconds: number;
  readonly wallMicroseconds: number;
}

/** How a job ended and in which phase. The status is null if process 1 died before it could report. */
export interface EndingReport {
  readonly status: WaitStatus | null;
  /** Whether the compiler was running; the status is then the compiler's. */
  readonly isCompiling: boolean;
  /** The compiler's usage before the program ran: zero if there is no compiler, null if it was not reported. */
  readonly compiled: Taken | null;
  /** The usage of the program and all its descendants, and the most memory that one of them had; null if not reported. */
  readonly took: (Taken & { readonly memoryPeakBytes: number | null }) | null;
}

/** The most bytes of a report from process 1. A report is one line, and always shorter than this. */
const REPORT_BYTES_MAX = 256;
/** Reports are padded to one length. */
const PADDING = / +\n$/;
const COMPILING = /^compiling\n$/;
const COMPILER_ENDED = /^compiler /;
const AFTER = / after (\d+) (\d+)/;
const TOOK = / took (\d+) (\d+) (\d+)$/m;

export function readEnding(report: Workspace): EndingReport {
  return parseEnding(report.read('ending', REPORT_BYTES_MAX)?.toString('latin1') ?? '');
}

/** Reads the last report of process 1: one line, or nothing. */
export function parseEnding(line: string): EndingReport {
  const text = line.replace(PADDING, '\n');
  const kibibytes = Number(TOOK.exec(text)?.[3] ?? 0);
  const took = takenOf(text, TOOK);
  return {
    status: parseWaitStatus(text.replace(COMPILER_ENDED, '').replace(TOOK, '').replace(AFTER, '')),
    isCompiling: COMPILING.test(text) || COMPILER_ENDED.test(text),
    compiled: takenOf(text, AFTER),
    took: took && { ...took, memoryPeakBytes: kibibytes === 0 ? null : kibibytes * 1024 },
  };
}

function takenOf(text: string, words: RegExp): Taken | null {
  const [, cpu, wall] = words.exec(text) ?? [];
  return cpu === undefined ? null : { cpuMicroseconds: Number(cpu), wallMicroseconds: Number(wall) };
}
