/** The five limits by name. */
import type { LimitName } from '../limits.ts';

export const LIMIT_WORDS: Readonly<Record<LimitName, string>> = {
  wall_seconds: 'Time, in seconds',
  cpu_seconds: 'Processor time, in seconds',
  mem_mb: 'Memory, in MiB',
  max_pids: 'Processes',
  max_file_mb: 'Size of a file, in MiB',
};
