/**
 * Where a signed statement stands in the log: whether it is in it, which witnesses saw that, and whether the log is the one
 * that the reader saw before. It works on bytes that were read, and uses nothing that only Node has. docs/VERIFYING.md, the
 * log.
 */
import {
  type Checkpoint,
  type LogKeys,
  logLeaf,
  type NoteKey,
  noteText,
  parseLogProof,
  type SignedStatement,
  verifyLogProof,
  type Witnessed,
} from '@vouchbox/evidence';
import { relationOf, signedHead, signedProofs } from './log-heads.ts';
import { type EarlierHead, logDelayDefault, timeChecks, timeText } from './log-time.ts';
import { type Check, failed, passed } from './report.ts';

/** What the reader of the log knows from elsewhere. */
export interface LogExpectation {
  /** Null if no key of the log is pinned: then a proof is not checked. */
  readonly keys: LogKeys | null;
  /** The largest head that was seen before, as it was remembered; null for the first time. */
  readonly remembered?: string | null;
  /** Proofs that one head's tree begins with another's. */
  readonly consistency?: readonly Uint8Array[];
  /** Heads that witnesses signed, in files: what these do not have came later. */
  readonly after?: readonly Uint8Array[];
  /** How long after its end a job may reach the log, in milliseconds. */
  readonly delay?: number;
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
  const earlier = await headsBefore(keys.log, seen);
  if (typeof earlier === 'string') return refusedAt('log_consistency', earlier);
  const grown = await knownLog(checkpoint, earlier, { log: keys.log, ...seen });
  if ('problem' in grown) return refusedAt('log_consistency', grown.problem);
  const { delay = logDelayDefault } = seen;
  const checks = [
    passed('log_head', `${checkpoint.size} statements, signed by ${checkpoint.origin}`),
    passed('log_inclusion', `statement ${index}`),
    ...witnessed.map(({ name, time }) => passed('witness', `${name} at ${timeText(time)}`)),
    ...(seen.remembered == null ? [] : [passed('log_consistency', 'the log only grew since it was seen before')]),
    ...(await timeChecks({ statement, index }, earlier, { witnesses: keys.witnesses, delay })),
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

type Seen = Omit<LogExpectation, 'keys'>;

/** The heads that were seen before, which the log must have signed; or what is wrong with one. */
async function headsBefore(log: NoteKey, { remembered = null, after = [] }: Seen): Promise<EarlierHead[] | string> {
  const heads: EarlierHead[] = [];
  if (remembered !== null) {
    const head = await signedHead(new TextEncoder().encode(remembered), log);
    if (typeof head === 'string') return `the remembered head is refused: ${head}`;
    heads.push({ head, isDemanded: false });
  }
  for (const bytes of after) {
    const head = await signedHead(bytes, log);
    if (typeof head === 'string') return `a head that was seen before is refused: ${head}`;
    heads.push({ head, isDemanded: true });
  }
  return heads;
}

/** Whether the head is of the log that was seen before, and the largest head of it that is known now. */
async function knownLog(
  found: Checkpoint,
  earlier: readonly EarlierHead[],
  { consistency = [], log }: Seen & { readonly log: NoteKey },
): Promise<{ readonly newest: Checkpoint } | { readonly problem: string }> {
  const before = earlier.find(({ isDemanded }) => !isDemanded)?.head;
  if (before === undefined) return { newest: found };
  const proofs = await signedProofs(consistency, log);
  return 'problem' in proofs ? proofs : relationOf([before, found], proofs.proofs);
}
