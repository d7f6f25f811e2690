/**
 * A program's usage without its compiler's, from one of two sources. In a namespace cell, the host's kernel counts the whole cell
 * from the hand-over on, and process 1 reports the compiler's part of that. In a gVisor cell, gVisor's kernel counts the program,
 * because the host's kernel counts gVisor's kernel together with everything that runs on it.
 */
import type { ProgramAlone, RunEnd } from '../program/program-run.ts';
import type { EndingReport } from './ending-report.ts';

interface Ended {
  readonly ending: EndingReport;
  /** Whether a compiler waited in the cell beside the program. */
  readonly hasCompiler: boolean;
  readonly sharesHostKernel: boolean;
  /** The counts of the host's kernel since the hand-over. */
  readonly counted: { readonly cpuMilliseconds: number } & Pick<RunEnd, 'memoryPeakBytes'>;
}

/** The usage of the program alone; null if it did not run, or if the cell ended before process 1 had reported enough. */
export function programAlone({ ending, hasCompiler, sharesHostKernel, counted }: Ended): ProgramAlone | null {
  if (ending.isCompiling) return null;
  return sharesHostKernel ? byCell(ending, hasCompiler, counted) : byGuest(ending, counted);
}

/** The usage as counted by the host's kernel. After a compiler, the memory peak is null, because a cell has only one peak. */
function byCell({ compiled }: EndingReport, hasCompiler: boolean, counted: Ended['counted']): ProgramAlone | null {
  if (!hasCompiler) return { account: 'cell', ...counted, wall: { afterMilliseconds: 0 } };
  if (compiled === null) return null;
  return {
    account: 'cell',
    cpuMilliseconds: counted.cpuMilliseconds - compiled.cpuMicroseconds / 1000,
    wall: { afterMilliseconds: compiled.wallMicroseconds / 1000 },
    memoryPeakBytes: null,
  };
}

/**
 * The usage as counted by the guest's kernel. That kernel keeps counting while the host gives its processor to others, so on a
 * busy host it may count more time than the program had.
 */
function byGuest({ took }: EndingReport, counted: Ended['counted']): ProgramAlone | null {
  if (took === null) return null;
  return {
    account: 'guest',
    cpuMilliseconds: Math.min(took.cpuMicroseconds / 1000, counted.cpuMilliseconds),
    wall: { milliseconds: took.wallMicroseconds / 1000 },
    memoryPeakBytes: took.memoryPeakBytes,
  };
}
