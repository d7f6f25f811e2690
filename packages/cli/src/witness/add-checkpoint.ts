/**
 * Decides whether a witness signs a log's head. The witness does so only if it signed this head last, or if the log grew from
 * the head that it signed last. https://c2sp.org/tlog-witness.
 */
import { type KeyObject, sign } from 'node:crypto';
import {
  type Checkpoint,
  cosignatureOf,
  cosignedMessage,
  equalHashes,
  headProblem,
  isConsistent,
  linesOf,
  type NoteKey,
  parseConsistency,
  signatureLine,
  treeKeyOf,
} from '@vouchbox/evidence';
import type { WitnessState } from './witness-state.ts';

export interface Witness {
  readonly state: WitnessState;
  /** The keys of the watched logs. Each key covers every tree of its log. */
  readonly logs: readonly NoteKey[];
  /** The witness's own key, of type `cosignature`. */
  readonly key: NoteKey;
  readonly privateKey: KeyObject;
  /** The current time in seconds since the epoch. */
  readonly now: () => number;
}

export interface WitnessAnswer {
  readonly status: number;
  readonly body: string;
  readonly mediaType?: string;
}

/** The most trees of one log, far more than a log opens. Without the bound, one operator could fill the disk for all logs. */
const treesMax = 100;

const SIZE_TYPE = 'text/x.tlog.size';

/** Answers a request to `add-checkpoint`. The signature line is returned only after the head is on disk. */
export async function addCheckpoint(body: Uint8Array, witness: Witness): Promise<WitnessAnswer> {
  const parsed = parseConsistency(body);
  if (parsed.kind === 'refused') return refused(400, parsed.reason);
  const { old, hashes, checkpoint } = parsed.consistency;
  const log = witness.logs.map((key) => treeKeyOf(key, checkpoint.origin)).find((key) => key !== null);
  if (log === undefined) return refused(404, `the log ${checkpoint.origin} is not watched here`);
  if ((await headProblem(checkpoint, log)) !== null) return refused(403, 'the key of the log did not sign the head');
  if (old > checkpoint.size) return refused(400, "the old size is larger than the head's");
  const known = witness.state.head(checkpoint.origin);
  if (known === null && treesOf(log, witness) >= treesMax)
    return refused(403, `the log opened ${treesMax} trees already`);
  if (old !== (known?.size ?? 0)) return sizeAnswer(known?.size ?? 0);
  const isSame = known !== null && known.size === checkpoint.size;
  if (isSame && !equalHashes(known.root, checkpoint.root)) return sizeAnswer(known.size);
  if (!grewFrom(known, checkpoint, hashes)) return refused(422, 'no proof that the log grew from the last signed head');
  return { status: 200, body: signed(checkpoint, log, witness) };
}

function treesOf(log: NoteKey, { state }: Witness): number {
  return state.origins.filter((origin) => treeKeyOf(log, origin) !== null).length;
}

function grewFrom(known: Checkpoint | null, head: Checkpoint, proof: readonly Uint8Array<ArrayBuffer>[]): boolean {
  if (known === null) return proof.length === 0;
  return isConsistent(known, head, proof);
}

/** The witness's signature line for a head. The head is stored together with the line before the line is returned. */
function signed(head: Checkpoint, log: NoteKey, { state, key, privateKey, now }: Witness): string {
  const time = now();
  const signature = cosignatureOf(key, time, sign(null, cosignedMessage(head.note.text, time), privateKey));
  // Only one line signed by the log's key is kept, because anybody may have added the other lines.
  const ofLog = linesOf(head.note.signatures, log).slice(0, 1);
  state.keep({ ...head, note: { text: head.note.text, signatures: [...ofLog, signature] } });
  return signatureLine(signature);
}

function refused(status: number, reason: string): WitnessAnswer {
  return { status, body: `${reason}\n` };
}

function sizeAnswer(size: number): WitnessAnswer {
  return { status: 409, body: `${size}\n`, mediaType: SIZE_TYPE };
}
