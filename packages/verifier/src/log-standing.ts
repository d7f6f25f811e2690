/**
 * Where a signed statement stands in the log: whether the log has it, which witnesses saw it, and whether the reader saw this
 * same log before. Works on bytes that were read, and uses nothing that only Node has. docs/VERIFYING.md, the log.
 */
import {
  type Checkpoint,
  type LogKeys,
  logLeaf,
  logNameOf,
  type NoteKey,
  noteText,
  parseCheckpoint,
  parseLogProof,
  type SignedStatement,
  treeKeyOf,
  verifyLogProof,
  type Witnessed,
} from '@vouchbox/evidence';
import { relationOf, signedHead, signedProofs } from './log-heads.ts';
import { type EarlierHead, logDelayDefault, timeChecks, timeText } from './log-time.ts';
import { type Check, failed, passed } from './report.ts';

/** The reader's own knowledge of the log. */
export interface LogExpectation {
  /** Null if no key of the log is pinned: then a proof is not checked. */
  readonly keys: LogKeys | null;
  /** The largest head seen so far, as the reader remembered it; null the first time. */
  readonly remembered?: string | null;
  /** Proofs of consistency: each shows that the tree of one head begins with the tree of another head. */
  readonly consistency?: readonly Uint8Array[];
  /** Files with heads that witnesses signed. A statement that such a head lacks reached the log after the head. */
  readonly after?: readonly Uint8Array[];
  /** How long after its end a job may reach the log, in milliseconds. */
  readonly delay?: number;
  /** Whether a later tree of the pinned log is accepted, though the statements of earlier trees are no longer provable. */
  readonly acceptReopened?: boolean;
}

export interface LogStanding {
  /** The log's verdict, in one line that begins with `NOT LOGGED`, `UNWITNESSED` or `WITNESSED`. */
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
 * Checks the proof that the log has this statement, whose signature was verified. `proof` is null if there is none. Every failed
 * check deserves an investigation.
 */
export async function logStanding(
  statement: SignedStatement,
  proof: Uint8Array | null,
  { keys: pinned, ...seen }: LogExpectation,
): Promise<LogStanding> {
  if (proof === null)
    return pinned === null ? notLogged : { ...notLogged, word: `${NOT_LOGGED}: no proof of it is here` };
  if (pinned === null)
    return { ...notLogged, word: `${NOT_LOGGED}: its proof was not checked, because no log key is pinned` };
  const parsed = parseLogProof(proof);
  if (parsed.kind === 'refused') return refusedAt('log_entry', `the proof is refused: ${parsed.reason}`);
  const { origin } = parsed.proof.checkpoint;
  const log = isLaterTree(pinned.log, origin) ? treeKeyOf(pinned.log, origin) : null;
  if (log !== null && !seen.acceptReopened) return refusedAt('log_head', reopenedFrom(pinned.log.name, origin));
  const keys = log === null ? pinned : { ...pinned, log };
  const verdict = await verifyLogProof(parsed.proof, logLeaf(statement), keys);
  if (verdict.kind === 'failed') return refusedAt(verdict.check, verdict.reason);
  const { index, checkpoint, witnessed } = verdict;
  const earlier = await headsBefore(keys.log, seen);
  if (typeof earlier === 'string') return refusedAt('log_consistency', earlier);
  const ofThisTree = earlier.filter(({ head }) => head.origin === keys.log.name);
  const lost = earlier.find((head) => !ofThisTree.includes(head));
  const grown = await knownLog(checkpoint, earlier, { log: keys.log, ...seen });
  if ('problem' in grown) return refusedAt('log_consistency', grown.problem);
  const { delay = logDelayDefault } = seen;
  const checks = [
    passed('log_head', `${checkpoint.size} statements, signed by ${checkpoint.origin}`),
    passed('log_inclusion', `statement ${index}`),
    ...witnessed.map(({ name, time }) => passed('witness', `${name} at ${timeText(time)}`)),
    ...(seen.remembered == null ? [] : [passed('log_consistency', grownText(lost))]),
    ...(await timeChecks({ statement, index }, ofThisTree, { witnesses: keys.witnesses, delay })),
  ];
  const word = lost === undefined ? wordOf(witnessed) : `${wordOf(witnessed)}. ${lostText(lost)}`;
  return { word, isLogged: true, witnessed, checks, head: noteText(grown.newest.note) };
}

function refusedAt(check: string, reason: string): LogStanding {
  return { ...notLogged, checks: [failed(check, reason)] };
}

function wordOf(witnessed: readonly Witnessed[]): string {
  if (witnessed.length === 0) return 'UNWITNESSED: its operator could show others another log';
  return `WITNESSED by ${witnessed.map(({ name, time }) => `${name} at ${timeText(time)}`).join(' and by ')}`;
}

/** Whether the origin names the same host and a tree that was opened after the pinned tree. */
function isLaterTree({ name }: NoteKey, origin: string): boolean {
  const [own, other] = [logNameOf(name), logNameOf(origin)];
  return own !== null && own.host === other?.host && own.tree < other.tree;
}

const ACCEPT = 'pin the key of the new tree, or accept it with --accept-reopened';

function reopenedFrom(before: string, origin: string): string {
  return `REOPENED: the log continues as ${origin}, and the statements of ${before} are no longer provable: ${ACCEPT}`;
}

function lostText({ head: { origin, size } }: EarlierHead): string {
  return `REOPENED: ${size} leaves up to the head of ${origin} are no longer provable`;
}

function grownText(lost: EarlierHead | undefined): string {
  return lost === undefined ? 'the log only grew since it was seen before' : lostText(lost);
}

type Seen = Omit<LogExpectation, 'keys'>;

/** The heads that were seen before, or what is wrong with one of them. The log must have signed each head. */
async function headsBefore(log: NoteKey, seen: Seen): Promise<EarlierHead[] | string> {
  const { remembered = null, after = [], acceptReopened = false } = seen;
  const heads: EarlierHead[] = [];
  if (remembered !== null) {
    const ofTree = treeBefore(log, remembered);
    const head = await signedHead(new TextEncoder().encode(remembered), ofTree ?? log);
    if (typeof head === 'string') return `the remembered head is refused: ${head}`;
    const earlier = { head, isDemanded: false };
    if (ofTree !== null && !acceptReopened) return `${lostText(earlier)}: accept that with --accept-reopened`;
    heads.push(earlier);
  }
  for (const bytes of after) {
    const head = await signedHead(bytes, log);
    if (typeof head === 'string') return `a head that was seen before is refused: ${head}`;
    heads.push({ head, isDemanded: true });
  }
  return heads;
}

/** The log's key under the name of an earlier tree, if the head is from such a tree; otherwise null. */
function treeBefore(log: NoteKey, remembered: string): NoteKey | null {
  const parsed = parseCheckpoint(remembered);
  const origin = parsed.kind === 'checkpoint' ? parsed.checkpoint.origin : log.name;
  const key = treeKeyOf(log, origin);
  return key !== null && isLaterTree(key, log.name) ? key : null;
}

/** Checks that the head is from the log that was seen before. Returns the largest known head of that log, or what is wrong. */
async function knownLog(
  found: Checkpoint,
  earlier: readonly EarlierHead[],
  { consistency = [], log }: Seen & { readonly log: NoteKey },
): Promise<{ readonly newest: Checkpoint } | { readonly problem: string }> {
  const before = earlier.find(({ isDemanded }) => !isDemanded)?.head;
  if (before === undefined || before.origin !== found.origin) return { newest: found };
  const proofs = await signedProofs(consistency, log);
  return 'problem' in proofs ? proofs : relationOf([before, found], proofs.proofs);
}
