/** Judge0's statuses, and which of them fits the way a job ended. */
import type { Ended } from '../run-program.ts';
import { outputDigest } from './token.ts';

export const STATUSES = {
  1: 'In Queue',
  2: 'Processing',
  3: 'Accepted',
  4: 'Wrong Answer',
  5: 'Time Limit Exceeded',
  6: 'Compilation Error',
  7: 'Runtime Error (SIGSEGV)',
  8: 'Runtime Error (SIGXFSZ)',
  9: 'Runtime Error (SIGFPE)',
  10: 'Runtime Error (SIGABRT)',
  11: 'Runtime Error (NZEC)',
  12: 'Runtime Error (Other)',
  13: 'Internal Error',
  14: 'Exec Format Error',
} as const;
export type StatusNumber = keyof typeof STATUSES;

export function statusNumbered(id: StatusNumber) {
  return { id, description: STATUSES[id] };
}

const BY_SIGNAL: Readonly<Record<string, StatusNumber>> = { SIGSEGV: 7, SIGXFSZ: 8, SIGFPE: 9, SIGABRT: 10 };

/** The status for a job's end. Judge0 has none for exceeded memory: that is a runtime error, and its message names the reason. */
export function statusOf(
  { kind, stage, exitCode, signal, stdout, truncated }: Ended,
  expectedDigest: string | null,
): StatusNumber {
  // As in Judge0, a compiler that takes too long counts as a compilation error, not as an exceeded time limit.
  if (stage === 'compile') return 6;
  if (kind === 'time_limit') return 5;
  if (kind === 'memory_limit') return 12;
  if (kind === 'signaled') return BY_SIGNAL[signal ?? ''] ?? 12;
  if (exitCode !== 0) return 11;
  if (expectedDigest === null) return 3;
  // A truncated output never counts as the expected output, because the rest of the output is unknown.
  return !truncated && outputDigest(stdout) === expectedDigest ? 3 : 4;
}
