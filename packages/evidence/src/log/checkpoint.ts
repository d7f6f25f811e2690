/**
 * Heads of the log. One key signs each head twice: as a checkpoint of `HOST/log/TREE` for witnesses to cosign
 * (https://c2sp.org/tlog-checkpoint), and as `HOST - TREE` in the form of Rekor v1, which Sigstore's tools read. Both have the
 * number of the tree, so everybody sees a log that was opened again as a new log.
 */
import { sha256Bytes } from '#sha256';
import { decodeBase64, encodeBase64 } from '../base64.ts';
import { spkiOf } from '../public-key.ts';
import { type Refused, refused } from '../strict-json.ts';
import { type Note, type NoteKey, noteKey, parseNote } from './note.ts';
import type { Hash, TreeHead } from './tree.ts';

export interface Checkpoint extends TreeHead {
  readonly origin: string;
  readonly note: Note;
}

export type CheckpointResult = { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint } | Refused;

const HASH_BYTES = 32;

/** The part of a checkpoint that is signed, as text. */
export function checkpointText(origin: string, { size, root }: TreeHead): string {
  return `${origin}\n${size}\n${encodeBase64(root)}\n`;
}

/** Reads a head without checking who signed it. Extension lines are refused, because nobody audits them. */
export function parseCheckpoint(text: string): CheckpointResult {
  const result = parseNote(text);
  if (result.kind === 'refused') return result;
  const [origin = '', sizeText = '', rootText = '', ...rest] = result.note.text.slice(0, -1).split('\n');
  if (origin === '' || rest.length > 0) return refused('it is not an origin, a size and a root');
  const size = decimalOf(sizeText);
  const root = hashOf(rootText);
  if (size === null || root === null) return refused('its size or its root is malformed');
  return { kind: 'checkpoint', checkpoint: { origin, size, root, note: result.note } };
}

/** A log as its reader pins it. */
export interface LogName {
  readonly host: string;
  readonly tree: number;
}

/** The host and the tree of an origin `HOST/log/TREE`; null for any other origin. */
export function logNameOf(origin: string): LogName | null {
  const { host, tree } =
    /^(?<host>[A-Za-z0-9.-]+(?::\d{1,5})?)\/log\/(?<tree>[1-9]\d{0,8})$/.exec(origin)?.groups ?? {};
  return host === undefined ? null : { host, tree: Number(tree) };
}

export function originOfLog({ host, tree }: LogName): string {
  return `${host}/log/${tree}`;
}

/** The origin of a head in Rekor's form. Sigstore's tools recognise the form by the number after the dash. */
export function rekorOriginOf({ host, tree }: LogName): string {
  return `${host} - ${tree}`;
}

/** The name of a log for Sigstore's tools: the SHA-256 of the log's key as SPKI. */
export function rekorIdOf({ key }: NoteKey): Hash {
  return sha256Bytes(spkiOf(key.raw));
}

/**
 * A log's pinned key, with `origin` as its name; null if `origin` does not name a tree of this log. A log that was
 * opened again has the same host and, unless its operator says otherwise, the same key.
 */
export function treeKeyOf(pinned: NoteKey, origin: string): NoteKey | null {
  if (pinned.name === origin) return pinned;
  const [own, other] = [logNameOf(pinned.name), logNameOf(origin)];
  if (own === null || own.host !== other?.host) return null;
  const made = noteKey(origin, pinned.type, pinned.key.raw);
  return made.kind === 'key' ? made.key : null;
}

/** The log's key for heads in Rekor's form. The key's name is the host alone, and its hint comes from the Rekor id. */
export function rekorKeyOf(log: NoteKey, { host }: LogName): NoteKey {
  return { name: host, type: 'note', hint: rekorIdOf(log).slice(0, 4), key: log.key };
}

/** A whole number as a checkpoint writes it; null for any other spelling. */
export function decimalOf(text: string): number | null {
  const number = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : null;
}

/** A hash as a checkpoint writes it; null for any other text. */
export function hashOf(text: string): Hash | null {
  const bytes = /^[A-Za-z0-9+/]{43}=$/.test(text) ? decodeBase64(text) : null;
  return bytes?.length === HASH_BYTES ? bytes : null;
}
