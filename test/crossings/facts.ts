/**
 * The facts that places can show about an ended job. Places may show different facts, but a fact that two places show
 * must be the same at both.
 */
import { isDeepStrictEqual } from 'node:util';
import type { FoldedResult, JobDetail, TerminalReason, TerminalStatus } from '@vouchbox/protocol';

export interface Facts {
  readonly status: TerminalStatus;
  readonly terminal_reason: TerminalReason;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  /** The types of the violations, without repeats, in alphabetical order. */
  readonly violations: readonly string[];
  /** The bytes of each returned file as a text from `textOf`, keyed by the file's path. */
  readonly files: Readonly<Record<string, string>>;
  /** Whether the receipt states usage for the program alone. */
  readonly isMeasured: boolean;
  /** The output of the other program in a pair. */
  readonly peer: string;
  /** The verdict on each test of a grading, in the order of the tests. */
  readonly verdicts: readonly string[];
  /** The state of the tenant's newest grading, in the words of `gradingWords`. */
  readonly grading: string;
  /** The output that a reader gets with a link to the job and without a credential. */
  readonly linked: string;
  /** The output in the evidence page that the dashboard saves. A pinned key signed this evidence. */
  readonly evidence: string;
  /** The program's first line, as the list of jobs shows it. */
  readonly listed: string;
  /** How many jobs failed in the last hour, according to the service's status. */
  readonly counted: number;
  /** The number of jobs after all the scenario's requests. */
  readonly jobs: number;
}

/** The facts that the detail and the result state about every ended job. */
export const OF_EVERY_JOB = [
  ...(['status', 'terminal_reason', 'exit_code', 'signal', 'stdout', 'stderr', 'truncated', 'violations'] as const),
] as const satisfies readonly (keyof Facts)[];

/** The facts that one place showed. If a place shortens a long text, it shows the beginning and the end. */
export type Seen = Partial<Facts> & {
  readonly stdoutEnds?: TextEnds;
};

/** A long text of which only the beginning and the end are known. */
export interface TextEnds {
  readonly length: number;
  readonly head: string;
  readonly tail: string;
}

const shownCharacters = 200;

/** The first difference between the seen and the expected facts, in one line; null if there is none. */
export function differenceOf(seen: Seen, expected: Partial<Facts>, essential: readonly (keyof Facts)[]): string | null {
  const { stdoutEnds } = seen;
  const hasOutput = (seen.stdout ?? stdoutEnds) !== undefined;
  const missing = essential.find((name) => (name === 'stdout' ? !hasOutput : seen[name] === undefined));
  if (missing !== undefined) return `it does not show ${missing}`;
  for (const [name, value] of Object.entries(expected)) {
    const found = seen[name as keyof Facts];
    if (found !== undefined && !isDeepStrictEqual(found, value))
      return `${name} is ${brief(found)}, not ${brief(value)}`;
  }
  if (expected.stdout === undefined) return null;
  return stdoutEnds === undefined ? null : endsDifference(stdoutEnds, expected.stdout);
}

function endsDifference({ length, head, tail }: TextEnds, text: string): string | null {
  if (length !== text.length) return `stdout has ${length} characters, not ${text.length}`;
  return text.startsWith(head) && text.endsWith(tail)
    ? null
    : `the ends of stdout are ${brief(head)} and ${brief(tail)}`;
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  if (text.length <= shownCharacters) return text;
  return `${text.slice(0, shownCharacters / 2)}…${text.slice(-shownCharacters / 2)} (${text.length} characters)`;
}

/** The facts in the detail and the result of an ended job. */
export function factsOf(detail: Pick<JobDetail, 'terminal_reason' | 'signal' | 'receipt'>, result: FoldedResult): Seen {
  const { status, exit_code, stdout, stderr, truncated, violations, artifacts } = result;
  return {
    status: status as TerminalStatus,
    terminal_reason: detail.terminal_reason as TerminalReason,
    signal: detail.signal,
    exit_code,
    stdout,
    stderr,
    truncated,
    violations: typesOf(violations),
    isMeasured: detail.receipt?.program_usage !== undefined,
    files: Object.fromEntries(
      artifacts.map(({ path, content_base64 }) => [path, textOf(Buffer.from(content_base64, 'base64'))]),
    ),
  };
}

/** Bytes as a text with one character for each byte, so that every difference between bytes can be read. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

export function typesOf(violations: readonly { readonly type: string }[]): string[] {
  return [...new Set(violations.map(({ type }) => type))].toSorted();
}
