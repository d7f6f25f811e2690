/**
 * Signed notes: a text, the lines that sign it, and the keys that these lines name. https://c2sp.org/signed-note and
 * https://c2sp.org/tlog-cosignature. A line that names an unknown key is ignored. A wrong line that names a known key invalidates
 * the note.
 */
import { sha256Bytes } from '#sha256';
import { decodeBase64, encodeBase64 } from '../base64.ts';
import { type PinnedKey, pinnedKeyOf, verifySignature } from '../public-key.ts';
import { type Refused, refused } from '../strict-json.ts';
import { equalHashes } from './tree.ts';

/** What a key signs: a note as it is, or a checkpoint together with the time at which a witness saw the checkpoint. */
export type NoteKeyType = 'note' | 'cosignature';

const TYPE_BYTES: Readonly<Record<NoteKeyType, number>> = { note: 1, cosignature: 4 };

export interface NoteKey {
  readonly name: string;
  readonly type: NoteKeyType;
  /** The four bytes that come before each signature. They are a hint, not a digest to rely on. */
  readonly hint: Uint8Array<ArrayBuffer>;
  readonly key: PinnedKey;
}

export interface NoteSignature {
  readonly name: string;
  readonly hint: Uint8Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Note {
  /** The text, with its last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** The most bytes that a note may have. A checkpoint with sixteen witnesses has far fewer. */
export const noteBytesMax = 64 * 1024;
const signaturesMax = 64;
const HINT_BYTES = 4;
const TIME_BYTES = 8;
const NAME = /^[^\s+\p{Cc}]+$/u;

export type NoteKeyResult = { readonly kind: 'key'; readonly key: NoteKey } | Refused;

/** The key with this name and these raw bytes. */
export function noteKey(name: string, type: NoteKeyType, raw: Uint8Array<ArrayBuffer>): NoteKeyResult {
  if (!NAME.test(name)) return refused('its name is empty, or has a space or a plus');
  const pinned = pinnedKeyOf(raw);
  if (pinned.kind === 'refused') return pinned;
  const hint = sha256Bytes(utf8(`${name}\n`), Uint8Array.of(TYPE_BYTES[type]), raw).slice(0, HINT_BYTES);
  return { kind: 'key', key: { name, type, hint, key: pinned.key } };
}

/** Reads a verifier key as Go's tools write it: `NAME+HINT+BASE64`, with the hint in hex. */
export function parseNoteKey(text: string): NoteKeyResult {
  const { name, hint, base64 } =
    /^(?<name>[^+]+)\+(?<hint>[0-9a-f]{8})\+(?<base64>.+)$/.exec(text.trim())?.groups ?? {};
  const bytes = base64 === undefined ? null : decodeBase64(base64);
  if (name === undefined || bytes === null) return refused('it is not NAME+HINT+BASE64, as a verifier key is written');
  const type = (Object.keys(TYPE_BYTES) as NoteKeyType[]).find((known) => TYPE_BYTES[known] === bytes[0]);
  if (type === undefined) return refused('it is of a type that is not Ed25519');
  const made = noteKey(name, type, bytes.slice(1));
  if (made.kind === 'key' && hexOf(made.key.hint) !== hint) return refused('its hint is not that of its name and key');
  return made;
}

/** Writes a key in the form that `parseNoteKey` reads. */
export function noteKeyText({ name, type, hint, key }: NoteKey): string {
  return `${name}+${hexOf(hint)}+${encodeBase64(Uint8Array.of(TYPE_BYTES[type], ...key.raw))}`;
}

export type NoteResult = { readonly kind: 'note'; readonly note: Note } | Refused;

/** Reads a note. Nothing in it is verified yet. */
export function parseNote(text: string): NoteResult {
  if (utf8(text).length > noteBytesMax) return refused(`it is longer than ${noteBytesMax} bytes`);
  if (/\p{Cc}/u.test(text.replaceAll('\n', ''))) return refused('it has a control character');
  const end = text.lastIndexOf('\n\n');
  if (end < 0 || !text.endsWith('\n')) return refused('it has no signatures');
  const lines = text.slice(end + 2, -1).split('\n');
  if (lines.length > signaturesMax) return refused(`it has more than ${signaturesMax} signatures`);
  const signatures = lines.map(signatureOf);
  if (signatures.includes(null)) return refused('a line of its signatures is malformed');
  return { kind: 'note', note: { text: text.slice(0, end + 1), signatures: signatures as NoteSignature[] } };
}

/** Writes a note in the form that `parseNote` reads. */
export function noteText({ text, signatures }: Note): string {
  return `${text}\n${signatures.map(signatureLine).join('')}`;
}

export function signatureLine({ name, hint, bytes }: NoteSignature): string {
  return `\u2014 ${name} ${encodeBase64(Uint8Array.of(...hint, ...bytes))}\n`;
}

function signatureOf(line: string): NoteSignature | null {
  const { name, base64 } = /^\u2014 (?<name>\S+) (?<base64>\S+)$/u.exec(line)?.groups ?? {};
  const bytes = base64 === undefined ? null : decodeBase64(base64);
  if (name === undefined || !NAME.test(name) || bytes === null || bytes.length <= HINT_BYTES) return null;
  return { name, hint: bytes.slice(0, HINT_BYTES), bytes: bytes.slice(HINT_BYTES) };
}

/** What a note says about a key. `wrong`: a line names the key, but is no signature by that key. */
export type NoteVerdict = 'signed' | 'unsigned' | 'wrong';

/** The lines that name a key. Anybody can add other lines, so a note that is passed on may leave them out. */
export function linesOf(signatures: readonly NoteSignature[], { name, hint }: NoteKey): readonly NoteSignature[] {
  return signatures.filter((each) => each.name === name && equalHashes(each.hint, hint));
}

/** Whether a key of type `note` signed the text. */
export async function noteSignedBy({ text, signatures }: Note, signer: NoteKey): Promise<NoteVerdict> {
  const named = linesOf(signatures, signer);
  if (named.length === 0) return 'unsigned';
  for (const { bytes } of named) if (!(await verifySignature(signer.key, utf8(text), bytes))) return 'wrong';
  return 'signed';
}

/** The earliest time at which a key of type `cosignature` says it saw the checkpoint, in seconds since the epoch. */
export async function cosignedAt({ text, signatures }: Note, witness: NoteKey): Promise<number | 'unsigned' | 'wrong'> {
  const times: number[] = [];
  for (const { bytes } of linesOf(signatures, witness)) {
    const time = timeOf(bytes);
    if (time === null) return 'wrong';
    if (!(await verifySignature(witness.key, cosignedMessage(text, time), bytes.slice(TIME_BYTES)))) return 'wrong';
    times.push(time);
  }
  return times.length === 0 ? 'unsigned' : Math.min(...times);
}

/** The line for a witness that signed `cosignedMessage` at this time. */
export function cosignatureOf({ name, hint }: NoteKey, time: number, signature: Uint8Array): NoteSignature {
  const bytes = new Uint8Array(TIME_BYTES + signature.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(time));
  bytes.set(signature, TIME_BYTES);
  return { name, hint, bytes };
}

/** Reads signature lines without a note, as a witness returns them; null if a line is malformed. */
export function parseSignatureLines(text: string): readonly NoteSignature[] | null {
  if (text.length > noteBytesMax || !text.endsWith('\n')) return null;
  const lines = text.slice(0, -1).split('\n').map(signatureOf);
  return lines.length > signaturesMax || lines.includes(null) ? null : (lines as NoteSignature[]);
}

/** The bytes that a witness signs at this time. The time is in seconds since the epoch. */
export function cosignedMessage(text: string, time: number): Uint8Array<ArrayBuffer> {
  return utf8(`cosignature/v1\ntime ${time}\n${text}`);
}

function timeOf(bytes: Uint8Array<ArrayBuffer>): number | null {
  if (bytes.length < TIME_BYTES) return null;
  const time = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0));
  return Number.isSafeInteger(time) ? time : null;
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
