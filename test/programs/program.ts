/** A program that runs on any Linux, and is tried bare and in cells. */
import type { LimitName } from '@vouchbox/protocol';

export interface TriedProgram {
  /** `KIND/NAME`, as on the command line and in the list of known differences. */
  readonly name: string;
  readonly language: 'bash' | 'node' | 'python';
  readonly code: string;
  /** Executables and files of the host without which the program cannot be tried. */
  readonly needs: readonly string[];
  /** What is compared: the whole output and the exit code, or only whether the program passed. */
  readonly compared: 'output' | 'verdict';
  /** The limits of the program's job. The bare program runs without limits. */
  readonly limits: Readonly<Record<LimitName, number>>;
}

/** The result of one run. */
export interface Run {
  /** An exit code such as `exit 0`, the name of a signal, or the status of a job that was ended. */
  readonly ended: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
  /** The name and version of the runtime, from the receipt; null for a bare run. */
  readonly runtime: string | null;
}

/** The ceilings of a job's limits. A program that needs more cannot run in a cell. */
export const LARGEST_LIMITS = { wall_seconds: 300, cpu_seconds: 120, mem_mb: 1024, max_pids: 256, max_file_mb: 64 };
export const SMALL_LIMITS = { wall_seconds: 60, cpu_seconds: 30, mem_mb: 512, max_pids: 64, max_file_mb: 16 };
