/** Reads what a hostile program printed, and checks what many cases expect. */
import assert from 'node:assert/strict';
import type { Seen } from './hostile-case.ts';

/** The JSON document in the program's first line of output. If the line is not JSON, throws an error that has the line. */
export function answersOf<Answers>(seen: Seen): Answers {
  try {
    return JSON.parse(seen.stdout.split('\n', 1)[0] ?? '') as Answers;
  } catch {
    const { ending, stdout, stderr } = seen;
    throw new Error(
      `no answers but ${JSON.stringify({ ending, stdout: stdout.slice(0, 500), stderr: stderr.slice(0, 500) })}`,
    );
  }
}

/** Asserts that the program ended by itself, with this exit code. */
export function assertExited(seen: Seen, exit_code = 0): void {
  assert.deepEqual(seen.ending, { kind: 'exited', exit_code }, seen.stderr.slice(0, 500));
}

/** The violations' types, in the order in which they were noticed. */
export function violationTypes(seen: Seen): string[] {
  return seen.violations.map(({ type }) => type);
}

/** The answers with which a kernel refuses an attempt. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...['EPERM', 'EACCES', 'ENOENT', 'ENOSYS', 'EROFS', 'EXDEV', 'EBUSY', 'ENXIO', 'ENOTTY', 'ENOTSUP', 'EAFNOSUPPORT'],
  ...[
    'ECONNREFUSED',
    'ENETUNREACH',
    'EHOSTUNREACH',
    'ESRCH',
    'EIO',
    'EBADFD',
    'ENOMEM',
    'SIGSYS',
    'empty',
    'no name',
    'unopened',
    'another',
  ],
]);

/** Whether an answer means that nothing was reached. */
export function isRefusal(answer: string): boolean {
  return REFUSALS.has(answer);
}

/** Asserts that every answer is a refusal. The message names the other answers. */
export function assertRefused(answers: Readonly<Record<string, string>>): void {
  assert.deepEqual(
    Object.entries(answers).filter(([, answer]) => !isRefusal(answer)),
    [],
  );
}

/** A secret, spelled backwards for a program that looks for it. Otherwise the program would find its own source. */
export function backwards(secret: string): string {
  return Array.from(secret).toReversed().join('');
}
