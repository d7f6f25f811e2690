/** A program that any Linux runs, tried bare and in cells. */
import type { LimitName } from '@vouchbox/protocol';

export interface TriedProgram {
  /** `KIND/NAME`, as on the command line and in the list of known differences. */
  readonly name: string;
  readonly language: 'bash' | 'node' | 'python';
  readonly code: string;
  /** Executables and files of the host without which the program cannot be tried. */
  readonly needs: readonly string[];
  /** The comparison: the whole output and the exit code, or only that the program passed. */
  readonly compared: 'output' | 'verdict';
  /** The options of a job; the bare program has none of them. */
  readonly limits: Readonly<Record<LimitName, number>>;
}

/** The result of one run. */
export interface Run {
  /** `exit 0` and the like, a signal's name, or the status of a job that was ended. */
  readonly ended: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
  /** The name and version of its runtime, from its receipt; null without a cell. */
  readonly runtime: string | null;
}

/** The most that the service gives a job: what a program needs beyond that it cannot have in a cell. */
export const LARGEST_LIMITS = { wall_seconds: 300, cpu_seconds: 120, mem_mb: 1024, max_pids: 256, max_file_mb: 64 };
export const SMALL_LIMITS = { wall_seconds: 60, cpu_seconds: 30, mem_mb: 512, max_pids: 64, max_file_mb: 16 };
