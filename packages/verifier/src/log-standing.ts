/**
 * Where a signed statement stands in the log: whether it is in it, which witnesses saw that, and whether the log is the one
 * that the reader saw before. It works on bytes that were read, and uses nothing that only Node has. docs/VERIFYING.md, the
 * log.
 */
import {
  type Checkpoint,
  type Consistency,
  equalHashes,
  headProblem,
  isConsistent,
  type LogKeys,
  logLeaf,
  type NoteKey,
  noteText,
  parseCheckpoint,
  parseConsistency,
  parseLogProof,
  type SignedStatement,
  verifyLogProof,
  type Witnessed,
} from '@vouchbox/evidence';
import { type Check, failed, passed } from './report.ts';

/** What the reader of the log knows from elsewhere. */
export interface LogExpectation {
  /** Null if no key of the log is pinned: then a proof is not checked. */
  readonly keys: LogKeys | null;
  /** The largest head that was seen before, as it was remembered; null for the first time. */
  readonly remembered?: string | null;
  /** Proofs that one head's tree begins with another's. */
  readonly consistency?: readonly Uint8Array[];
}

export interface LogStanding {
  /** What the log says, in one line that begins with `NOT LOGGED`, `UNWITNESSED` or `WITNESSED`. */
  readonly word: string;
  readonly isLogged: boolean;
  readonly witnessed: readonly Witnessed[];
  readonly checks: readonly Check[];
  /** The largest head that was verified, to be remembered; null if there is none. */
  readonly head: string | null;
}

const NOT_LOGGED = 'NOT LOGGED';

export const notLogged: LogStanding = { word: NOT_LOGGED, isLogged: false, witnessed: [], checks: [], head: null };

/**
 * Checks the proof that the log has a statement whose signature was verified; null if there is none. A failed check is one
 * that somebody should look into.
 */
export async function logStanding(
  statement: SignedStatement,
  proof: Uint8Array | null,
  { keys, ...seen }: LogExpectation,
): Promise<LogStanding> {
  if (proof === null) return notLogged;
  if (keys === null)
    return { ...notLogged, word: `${NOT_LOGGED}: its proof was not checked, for no log key is pinned` };
  const parsed = parseLogProof(proof);
  if (parsed.kind === 'refused') return refusedAt('log_entry', `the proof is refused: ${parsed.reason}`);
  const verdict = await verifyLogProof(parsed.proof, logLeaf(statement), keys);
  if (verdict.kind === 'failed') return refusedAt(verdict.check, verdict.reason);
  const { index, checkpoint, witnessed } = verdict;
  const grown = await knownLog(checkpoint, { log: keys.log, ...seen });
  if ('problem' in grown) return refusedAt('log_consistency', grown.problem);
  const checks = [
    passed('log_head', `${checkpoint.size} statements, signed by ${checkpoint.origin}`),
    passed('log_inclusion', `statement ${index}`),
    ...witnessed.map(({ name, time }) => passed('witness', `${name} at ${timeText(time)}`)),
    ...(seen.remembered == null ? [] : [passed('log_consistency', 'the log only grew since it was seen before')]),
  ];
  return { word: wordOf(witnessed), isLogged: true, witnessed, checks, head: noteText(grown.newest.note) };
}

function refusedAt(check: string, reason: string): LogStanding {
  return { ...notLogged, checks: [failed(check, reason)] };
}

function wordOf(witnessed: readonly Witnessed[]): string {
  if (witnessed.length === 0) return 'UNWITNESSED: its operator could show others another log';
  return `WITNESSED by ${witnessed.map(({ name, time }) => `${name} at ${timeText(time)}`).join(' and by ')}`;
}

/** A witness may state any time: one that is no date is told as its number. */
function timeText(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString().replace('.000Z', 'Z');
}

type Seen = Omit<LogExpectation, 'keys'> & { readonly log: NoteKey };

/** Whether the head is of the log that was seen before, and the largest head of it that is known now. */
async function knownLog(
  found: Checkpoint,
  { remembered = null, consistency = [], log }: Seen,
): Promise<{ readonly newest: Checkpoint } | { readonly problem: string }> {
  if (remembered === null) return { newest: found };
  const before = parseCheckpoint(remembered);
  const known = before.kind === 'refused' ? before.reason : await headProblem(before.checkpoint, log);
  if (known !== null) return { problem: `the remembered head is refused: ${known}` };
  if (before.kind === 'refused') return { problem: before.reason };
  const proofs: Consistency[] = [];
  for (const bytes of consistency) {
    const parsed = parseConsistency(bytes);
    const problem = parsed.kind === 'refused' ? parsed.reason : await headProblem(parsed.consistency.checkpoint, log);
    if (problem !== null || parsed.kind === 'refused')
      return { problem: `a proof of consistency is refused: ${problem}` };
    proofs.push(parsed.consistency);
  }
  return compared(before.checkpoint, found, proofs);
}

/** All heads are signed. They are of one log if both lead to one head. */
function compared(
  before: Checkpoint,
  found: Checkpoint,
  proofs: readonly Consistency[],
): { readonly newest: Checkpoint } | { readonly problem: string } {
  const used = proofs.filter(({ old }) => old === before.size || old === found.size);
  for (const { old, hashes, checkpoint } of used) {
    const older = old === before.size ? before : found;
    if (!isConsistent(older, checkpoint, hashes))
      return { problem: `the log does not begin with what it had at ${old} statements: it was changed` };
  }
  if (before.size === found.size && !equalHashes(before.root, found.root))
    return { problem: `the log signed two heads of ${found.size} statements: others are shown another log` };
  const reached = (head: Checkpoint) => [
    head,
    ...used.flatMap(({ old, checkpoint }) => (old === head.size ? [checkpoint] : [])),
  ];
  const isSame = (one: Checkpoint, other: Checkpoint) => one.size === other.size && equalHashes(one.root, other.root);
  const isKnown = reached(before).some((one) => reached(found).some((other) => isSame(one, other)));
  if (!isKnown) {
    const sizes = [before.size, found.size].sort((one, other) => one - other).join(' and of ');
    return {
      problem: `nothing shows that the heads of ${sizes} statements are of one log: fetch a proof of consistency`,
    };
  }
  const heads = [before, found, ...used.map(({ checkpoint }) => checkpoint)];
  return { newest: heads.reduce((most, head) => (head.size > most.size ? head : most)) };
}
