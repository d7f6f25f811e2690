/**
 * The file that proves that a statement is in the log: its position, the hashes up to the root, and the signed head. The format
 * is https://c2sp.org/tlog-proof. Its `extra` line has the same head in Rekor's form. This module also has the proof that one
 * head's tree begins with another's, in the form that witnesses take: https://c2sp.org/tlog-witness.
 */
import { decodeBase64, encodeBase64 } from '../base64.ts';
import { type Refused, refused } from '../strict-json.ts';
import {
  type Checkpoint,
  decimalOf,
  hashOf,
  logNameOf,
  parseCheckpoint,
  rekorKeyOf,
  rekorOriginOf,
} from './checkpoint.ts';
import { cosignedAt, type NoteKey, noteBytesMax, noteSignedBy } from './note.ts';
import { equalHashes, type Hash, proofHashesMax, rootOfInclusion } from './tree.ts';

const FIRST_LINE = 'c2sp.org/tlog-proof@v1';

/** The most bytes that a file with either kind of proof may have. */
export const logProofBytesMax = 4 * noteBytesMax;

export interface LogProof {
  readonly index: number;
  readonly hashes: readonly Hash[];
  readonly checkpoint: Checkpoint;
  /** The exact text of the head in Rekor's form, for Sigstore's tools; null if the file has none. */
  readonly rekorHead: string | null;
}

export type LogProofResult = { readonly kind: 'proof'; readonly proof: LogProof } | Refused;

/** Reads a proof. Nothing in it is verified yet. */
export function parseLogProof(bytes: Uint8Array): LogProofResult {
  const parts = partsOf(bytes);
  if (parts.kind === 'refused') return parts;
  const [first, ...lines] = parts.lines;
  if (first !== FIRST_LINE) return refused(`its first line is not ${FIRST_LINE}`);
  const extra = lines[0]?.startsWith('extra ') ? (lines.shift() as string).slice('extra '.length) : null;
  const rekorHead = extra === null ? null : textOf(decodeBase64(extra));
  if (extra !== null && rekorHead === null) return refused('its extra line is malformed');
  const index = lines[0]?.startsWith('index ') ? decimalOf((lines.shift() as string).slice('index '.length)) : null;
  const hashes = hashesOf(lines);
  if (index === null || hashes === null) return refused('its index or one of its hashes is malformed');
  return { kind: 'proof', proof: { index, hashes, checkpoint: parts.checkpoint, rekorHead } };
}

/** The text of a proof's file, with the checkpoint unchanged. */
export function logProofText(proof: {
  readonly index: number;
  readonly hashes: readonly Hash[];
  readonly checkpoint: string;
  readonly rekorHead: string;
}): string {
  const extra = encodeBase64(new TextEncoder().encode(proof.rekorHead));
  const lines = [FIRST_LINE, `extra ${extra}`, `index ${proof.index}`, ...proof.hashes.map(encodeBase64)];
  return `${lines.join('\n')}\n\n${proof.checkpoint}`;
}

/** The proof that the tree of the checkpoint begins with the first `old` leaves of a tree that the reader knows. */
export interface Consistency {
  readonly old: number;
  readonly hashes: readonly Hash[];
  readonly checkpoint: Checkpoint;
}

export type ConsistencyResult = { readonly kind: 'consistency'; readonly consistency: Consistency } | Refused;

/** Reads a proof of consistency. Nothing in it is verified yet. */
export function parseConsistency(bytes: Uint8Array): ConsistencyResult {
  const parts = partsOf(bytes);
  if (parts.kind === 'refused') return parts;
  const [first = '', ...lines] = parts.lines;
  const old = first.startsWith('old ') ? decimalOf(first.slice('old '.length)) : null;
  const hashes = hashesOf(lines);
  if (old === null || hashes === null) return refused('its old size or one of its hashes is malformed');
  return { kind: 'consistency', consistency: { old, hashes, checkpoint: parts.checkpoint } };
}

export function consistencyText(old: number, hashes: readonly Hash[], checkpoint: string): string {
  return `${[`old ${old}`, ...hashes.map(encodeBase64)].join('\n')}\n\n${checkpoint}`;
}

type Parts = { readonly kind: 'parts'; readonly lines: string[]; readonly checkpoint: Checkpoint } | Refused;

/** The lines before the first empty one, and the checkpoint after it. */
function partsOf(bytes: Uint8Array): Parts {
  if (bytes.length > logProofBytesMax) return refused(`it is larger than ${logProofBytesMax} bytes`);
  const text = textOf(bytes);
  const end = text?.indexOf('\n\n') ?? -1;
  if (text === null || end < 0) return refused('it has no checkpoint');
  const result = parseCheckpoint(text.slice(end + 2));
  if (result.kind === 'refused') return refused(`its checkpoint is refused: ${result.reason}`);
  return { kind: 'parts', lines: text.slice(0, end).split('\n'), checkpoint: result.checkpoint };
}

function hashesOf(lines: readonly string[]): Hash[] | null {
  const hashes = lines.map(hashOf);
  return hashes.length > proofHashesMax || hashes.includes(null) ? null : (hashes as Hash[]);
}

function textOf(bytes: Uint8Array | null): string | null {
  if (bytes === null) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The keys that a reader of the log pinned. */
export interface LogKeys {
  /** The log's key, of type `note`, named after the log's origin. */
  readonly log: NoteKey;
  /** The witnesses' keys, of type `cosignature`. */
  readonly witnesses: readonly NoteKey[];
}

/** A witness, and the time at which it saw the head, in seconds since the epoch. */
export interface Witnessed {
  readonly name: string;
  readonly time: number;
}

/** The verdict on a proof: which check failed and why, or the position of the statement. */
export type LogProofVerdict =
  | { readonly kind: 'failed'; readonly check: 'log_head' | 'log_inclusion' | 'witness'; readonly reason: string }
  | {
      readonly kind: 'logged';
      readonly index: number;
      readonly checkpoint: Checkpoint;
      readonly witnessed: Witnessed[];
    };

/** Verifies that the log signed the head and that the leaf is in its tree. Also finds which witnesses saw the head. */
export async function verifyLogProof(proof: LogProof, leaf: Hash, keys: LogKeys): Promise<LogProofVerdict> {
  const { index, hashes, checkpoint } = proof;
  const problem = (await headProblem(checkpoint, keys.log)) ?? (await rekorHeadProblem(proof, keys.log));
  if (problem !== null) return { kind: 'failed', check: 'log_head', reason: problem };
  const root = rootOfInclusion(leaf, { index, size: checkpoint.size, proof: hashes });
  if (root === null || !equalHashes(root, checkpoint.root)) {
    return { kind: 'failed', check: 'log_inclusion', reason: 'the statement is not where the proof says' };
  }
  const witnessed: Witnessed[] = [];
  // One key under two names counts as one witness. The log's own key does not count as a witness.
  const counted = new Set([keys.log.key.key_id]);
  for (const witness of keys.witnesses) {
    const time = await cosignedAt(checkpoint.note, witness);
    if (time === 'wrong')
      return { kind: 'failed', check: 'witness', reason: `${witness.name} did not sign the head as it must` };
    if (time === 'unsigned' || counted.has(witness.key.key_id)) continue;
    counted.add(witness.key.key_id);
    witnessed.push({ name: witness.name, time });
  }
  return { kind: 'logged', index, checkpoint, witnessed };
}

/** Why a head does not count as signed by the log; null if it counts. */
export async function headProblem({ origin, note }: Checkpoint, log: NoteKey): Promise<string | null> {
  if (origin !== log.name) return `it is of the log ${origin}, and the pinned key is of ${log.name}`;
  const verdict = await noteSignedBy(note, log);
  return verdict === 'signed' ? null : `the key of ${log.name} did not sign it`;
}

/** A proof may lack the head in Rekor's form. If the proof has one, it must be the same head, and signed. */
async function rekorHeadProblem({ rekorHead, checkpoint }: LogProof, log: NoteKey): Promise<string | null> {
  if (rekorHead === null) return null;
  const result = parseCheckpoint(rekorHead);
  const name = logNameOf(checkpoint.origin);
  if (result.kind === 'refused' || name === null) return 'its head in Rekor’s form is malformed';
  const { origin, size, root, note } = result.checkpoint;
  const isSame = origin === rekorOriginOf(name) && size === checkpoint.size && equalHashes(root, checkpoint.root);
  if (!isSame) return 'its head in Rekor’s form is another head';
  return (await noteSignedBy(note, rekorKeyOf(log, name))) === 'signed'
    ? null
    : 'its head in Rekor’s form is not signed';
}
