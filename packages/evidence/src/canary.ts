/**
 * A canary is an ordinary signed job that the service itself makes. Its program tries what the cell must refuse, and reports each
 * outcome. The canary's statement has the program's lines, so the envelope alone shows them. The receipt has their digest.
 */

import { outputEvidenceOf } from './output.ts';
import type { ExecutionPredicate, StoredReceipt } from './predicate.ts';
import { isJsonObject } from './strict-json.ts';

/** The tenant that canaries belong to. No credential can belong to it, because no tenant's name may begin with a dot. */
export const CANARY_TENANT = '.canary';

/** How long jobs may still name a canary after it has ended. */
export const canaryNamedMilliseconds = 60 * 60 * 1000;

/** What every canary tries. In some classes, a canary also tries other things, because these show something only there. */
export const CANARY_TRIES = [
  'mount',
  'ptrace',
  'egress_ipv4',
  'egress_ipv6',
  'egress_metadata',
  'processes',
  'memory',
] as const;

const NO_RIGHT = ['Operation not permitted', 'Permission denied', 'Read-only file system', 'Function not implemented'];
const NO_WAY = [...NO_RIGHT, 'Network is unreachable', 'No route to host', 'Address family not supported by protocol'];

/**
 * The answers that count as refusals for these tries. For all other tries, the answers in `NO_RIGHT` count. Any other answer may
 * have another cause, for example a process that never started and so tried nothing.
 */
const REFUSALS: ReadonlyMap<string, readonly string[]> = new Map([
  ['egress_ipv4', NO_WAY],
  ['egress_ipv6', NO_WAY],
  ['egress_metadata', NO_WAY],
  // EINVAL: the cell's user namespace has no such user. setuid(2).
  ['setuid_0', [...NO_RIGHT, 'Invalid argument']],
  ['processes', ['Resource temporarily unavailable']],
  ['memory', ['Cannot allocate memory']],
]);

/** The last line that a canary would have written if the memory limit had not ended the canary. */
const ENDED_FOR_MEMORY = 'ended by the memory limit';

/** The newest canary whose cell was like the job's. The job's statement names it. */
export interface NamedCanary {
  /** The digest of the canary's envelope. */
  readonly sha256: string;
  readonly jobId: string;
  readonly finishedAt: string;
}

/** The canary that a statement names; null if it names no canary in this form. */
export function canaryNamedIn({ also }: Pick<ExecutionPredicate, 'also'>): NamedCanary | null {
  const named = also?.['canary'];
  if (!isJsonObject(named)) return null;
  const { sha256, jobId, finishedAt } = named;
  const isNamed = typeof sha256 === 'string' && typeof jobId === 'string' && typeof finishedAt === 'string';
  return isNamed ? { sha256, jobId, finishedAt } : null;
}

/** The outcome of an attempt, in the kernel's words. */
export interface CanaryTry {
  readonly tried: string;
  readonly answer: string;
  readonly isRefused: boolean;
}

export interface CanaryFindings {
  readonly tries: readonly CanaryTry[];
  /** Why the canary does not show that its cell refused everything; null if it shows that. */
  readonly problem: string | null;
}

const LINE = /^(?<tried>[a-z0-9_]{1,40}): (?<answer>[\x20-\x7e]{1,60})$/;
const linesMax = 64;

/** The lines that a canary wrote, for its statement; null if a canary could not have written them. */
export function canaryLines(stdout: string): readonly string[] | null {
  const lines = stdout.split('\n');
  return lines.length <= linesMax && lines.every((line) => LINE.test(line)) ? lines : null;
}

/** Reads the statement of a canary. The caller has checked its signature, or trusts the store. */
export function canaryFindings({ tenant, also, receipt }: ExecutionPredicate): CanaryFindings {
  const nothing = (problem: string): CanaryFindings => ({ tries: [], problem });
  if (tenant !== CANARY_TENANT) return nothing('it is not a canary');
  const lines = also?.['tried'];
  if (!Array.isArray(lines) || lines.length > linesMax) return nothing('it does not say what it tried');
  const tries: CanaryTry[] = [];
  for (const line of lines as unknown[]) {
    const { tried, answer } = (typeof line === 'string' && LINE.exec(line)?.groups) || {};
    if (tried === undefined || answer === undefined) return nothing('a line of it cannot be read');
    tries.push({ tried, answer, isRefused: (REFUSALS.get(tried) ?? NO_RIGHT).includes(answer) });
  }
  if (!isWhatItWrote(lines as string[], receipt)) return nothing('its receipt has the digest of another output');
  if (receipt['terminal_reason'] === 'memory_limit' && tries.every(({ tried }) => tried !== 'memory'))
    tries.push({ tried: 'memory', answer: ENDED_FOR_MEMORY, isRefused: true });
  return { tries, problem: problemOf(tries) };
}

function isWhatItWrote(lines: readonly string[], receipt: StoredReceipt): boolean {
  const { output, truncated } = receipt;
  const written = outputEvidenceOf({
    stdout: { texts: lines, records: lines.length },
    stderr: { texts: [], records: 0 },
  });
  return isJsonObject(output) && output['stdout_sha256'] === written.stdout_sha256 && truncated === false;
}

function problemOf(tries: readonly CanaryTry[]): string | null {
  const allowed = tries.filter(({ isRefused }) => !isRefused);
  if (allowed.length > 0)
    return `it was not refused: ${allowed.map(({ tried, answer }) => `${tried} (${answer})`).join(', ')}`;
  const known = new Set(tries.map(({ tried }) => tried));
  const missing = CANARY_TRIES.filter((name) => !known.has(name));
  return missing.length === 0 ? null : `it does not mention ${missing.join(', ')}`;
}
