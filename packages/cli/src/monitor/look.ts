/** One look at a log: whether the head shown at an address grew from the head that was seen before. */
import {
  type Checkpoint,
  cosignedAt,
  headProblem,
  type LogKeys,
  logNameOf,
  noteText,
  parseCheckpoint,
  treeKeyOf,
} from '@vouchbox/evidence';
import { relationOf, signedProofs } from '@vouchbox/verifier';
import { CommandFailure } from '../failures/command-failure.ts';
import { readOfLog } from './log-reader.ts';

/** The result of a look. For a `cheat`, `shown` is the signed head that does not fit; null if the log signed no such head. */
export type Look =
  | FineLook
  | { readonly kind: 'cheat'; readonly word: string; readonly text: string; readonly shown: string | null };

export interface FineLook {
  readonly kind: 'fine';
  readonly head: Checkpoint;
  readonly witnesses: readonly string[];
  /** When the last witness signed the head, in seconds since the epoch; null if no witness did. */
  readonly witnessedAt: number | null;
  readonly text: string;
}

export interface LookOptions {
  readonly keys: LogKeys;
  /** The largest head seen so far; null for the first look. */
  readonly seen: Checkpoint | null;
  /** Whether to accept a later tree of the log. */
  readonly acceptReopened: boolean;
  readonly signal: AbortSignal;
}

/** How often a log is read at most if it keeps growing between its answer with the head and its answer with the proof. */
const triesMax = 5;

/** @throws CommandFailure if the log does not answer or shows no proof: that is reported, but proves nothing against the log */
export async function lookAt(url: string, options: LookOptions): Promise<Look> {
  for (let tries = 1; ; tries++) {
    const look = await lookOnce(url, options);
    if (look.kind !== 'grew') return look;
    if (tries === triesMax) throw new CommandFailure(`${url}: ${look.problem}`);
  }
}

/** The log grew during the look, so its proof leads to a later head and proves nothing about the shown one. */
interface Grew {
  readonly kind: 'grew';
  readonly problem: string;
}

async function lookOnce(url: string, { keys, seen, acceptReopened, signal }: LookOptions): Promise<Look | Grew> {
  const text = await readOfLog(url, 'checkpoint', signal);
  if (text === null) throw new CommandFailure(`${url} shows no log`);
  const head = await headOfLog(text, keys);
  if (typeof head === 'string')
    return { kind: 'cheat', word: 'NOT SIGNED', text: `the head is refused: ${head}`, shown: null };
  const before = seen ?? firstOf(keys);
  if (treeOf(head.origin) < treeOf(before.origin)) {
    const text = `it shows ${head.origin}, but ${before.origin} was opened later`;
    return { kind: 'cheat', word: 'ROLLED BACK', text, shown: noteText(head.note) };
  }
  if (before.origin !== head.origin) {
    const lost = `REOPENED: ${before.size} leaves up to the head of ${before.origin} are no longer provable`;
    if (acceptReopened) return await fine(head, keys, lost);
    const how = 'if the operator told you why, continue with --accept-reopened';
    return { kind: 'cheat', word: 'REOPENED', text: `${lost}: ${how}`, shown: noteText(head.note) };
  }
  if (seen === null) return await fine(head, keys, `${head.size} statements, seen for the first time`);
  return await beside(seen, head, { url, keys, signal });
}

const treeOf = (origin: string) => logNameOf(origin)?.tree ?? 0;

/** The head with which the first look compares: that of a log without statements. */
function firstOf({ log }: LogKeys): Pick<Checkpoint, 'origin' | 'size'> {
  return { origin: log.name, size: 0 };
}

async function fine(head: Checkpoint, { witnesses }: LogKeys, text: string): Promise<Look> {
  const times = await Promise.all(witnesses.map((witness) => cosignedAt(head.note, witness)));
  const signed = witnesses.filter((_, at) => typeof times[at] === 'number');
  const last = times.reduce<number>((latest, time) => (typeof time === 'number' ? Math.max(latest, time) : latest), -1);
  const witnessedAt = signed.length === 0 ? null : last;
  return { kind: 'fine', head, witnesses: signed.map(({ name }) => name), witnessedAt, text };
}

/** The head, or why it is not the log's: it is malformed, or the log's key did not sign it for one of the log's trees. */
export async function headOfLog(text: string, { log }: LogKeys): Promise<Checkpoint | string> {
  const parsed = parseCheckpoint(text);
  if (parsed.kind === 'refused') return parsed.reason;
  const key = treeKeyOf(log, parsed.checkpoint.origin) ?? log;
  return (await headProblem(parsed.checkpoint, key)) ?? parsed.checkpoint;
}

const WORDS = { forked: 'FORKED', changed: 'CHANGED' } as const;

async function beside(
  seen: Checkpoint,
  head: Checkpoint,
  { url, keys, signal }: Pick<LookOptions, 'keys' | 'signal'> & { readonly url: string },
): Promise<Look | Grew> {
  const shown = noteText(head.note);
  if (head.size < seen.size) {
    const text = `it shows ${head.size} statements, fewer than the ${seen.size} seen before`;
    return { kind: 'cheat', word: 'ROLLED BACK', text, shown };
  }
  const proof = head.size === seen.size ? null : await readOfLog(url, `consistency?old=${seen.size}`, signal);
  const log = treeKeyOf(keys.log, head.origin) ?? keys.log;
  const proofs = await signedProofs(proof === null ? [] : [new TextEncoder().encode(proof)], log);
  if ('problem' in proofs) throw new CommandFailure(`${url}: ${proofs.problem}`);
  const relation = relationOf([seen, head], proofs.proofs);
  if (relation.kind === 'not_shown') {
    if (proofs.proofs.some(({ checkpoint }) => checkpoint.size > head.size)) return { ...relation, kind: 'grew' };
    throw new CommandFailure(`${url}: ${relation.problem}`);
  }
  if (relation.kind !== 'one_log') return { kind: 'cheat', word: WORDS[relation.kind], text: relation.problem, shown };
  const grown = relation.newest.size - seen.size;
  const text = grown === 0 ? `${head.size} statements, as before` : `${relation.newest.size} statements, ${grown} more`;
  return await fine(relation.newest, keys, text);
}
