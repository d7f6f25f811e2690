/** Reads keys in the forms that people have: PEM, a JWK, a key id, and a log's keys. docs/VERIFYING.md, RFC 8037. */
import { isJsonObject, type LogKeys, parseNoteKey, parsePublicKey, parseStrictJson } from '@vouchbox/evidence';

export interface PinnedKeys {
  /** PEM texts of the keys. */
  readonly pems: readonly string[];
  /** The keys of the log and its witnesses; null if the log's own key is missing. */
  readonly log: LogKeys | null;
  /** Why a part of the text is not a key; null if all parts are keys. */
  readonly problem: string | null;
  /** Whether the problem is that the export's key differs from the given one. */
  readonly isMismatch: boolean;
}

const PEM_BLOCK = /-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g;
/** A line with the key of a log or a witness, in the form that Go's tools write. */
const NOTE_KEY = /^\s*[^\s+]+\+[0-9a-f]{8}\+\S+\s*$/gm;
/** A key id. People may copy only its digits. */
const KEY_ID = /(?<!\w)(?:sha256:)?([0-9a-fA-F]{64})\b/g;

/**
 * Every key in a text, in the same form. A key id is a key's digest: it pins the export's key if that key has the same id.
 * @param enclosed the export's key as PEM; null if the export has none
 */
export function pinnedKeysIn(text: string, enclosed: string | null): PinnedKeys {
  const parsed = (text.match(NOTE_KEY) ?? []).map(parseNoteKey);
  const bad = parsed.find((result) => result.kind === 'refused');
  if (bad !== undefined) return refused(`This key of a log or a witness is refused: ${bad.reason}.`);
  const keys = parsed.flatMap((result) => (result.kind === 'key' ? [result.key] : []));
  const [log = null, ...more] = keys.filter(({ type }) => type === 'note');
  const witnesses = keys.filter(({ type }) => type === 'cosignature');
  if (more.length > 0) return refused('These are the keys of two logs. Pin one.');
  if (log === null && witnesses.length > 0) return refused('A witness needs a log: pin the key of the log too.');
  return { ...signersIn(text.replaceAll(NOTE_KEY, ''), enclosed), log: log && { log, witnesses } };
}

function signersIn(text: string, enclosed: string | null): PinnedKeys {
  const given = text.trim();
  if (given === '') return pinned([]);
  if (given.startsWith('{')) return fromJwk(given);
  const blocks = given.match(PEM_BLOCK);
  if (blocks !== null) return fromPems(blocks);
  const ids = Array.from(given.matchAll(KEY_ID), ([, hex = '']) => hex.toLowerCase());
  if (ids.length > 0) return fromIds(ids, enclosed);
  return refused('This is not a key. Paste a PEM block, a JWK, or a key id that starts with sha256:.');
}

function fromPems(blocks: readonly string[]): PinnedKeys {
  const pems = blocks.map((block) => `${block}\n`);
  for (const pem of pems) {
    const result = parsePublicKey(pem);
    if (result.kind === 'refused') return refused(`This key is refused: ${result.reason}.`);
  }
  return pinned(pems);
}

function fromJwk(text: string): PinnedKeys {
  const json = parseStrictJson(new TextEncoder().encode(text));
  if (json.kind === 'refused' || !isJsonObject(json.value))
    return refused('This is not a JWK: it is not a JSON object.');
  const { kty, crv, x } = json.value;
  if (Object.hasOwn(json.value, 'd'))
    return refused('This is a private key. Keep it secret, and paste the public one.');
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || !/^[\w-]{43}$/.test(x)) {
    return refused('This JWK is not an Ed25519 public key.');
  }
  // The prefix of SubjectPublicKeyInfo has 12 bytes, so the base64 of the key can follow the base64 of the prefix.
  const base64 = `MCowBQYDK2VwAyEA${x.replaceAll('-', '+').replaceAll('_', '/')}=`;
  return fromPems([`-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----`]);
}

function fromIds(ids: readonly string[], enclosed: string | null): PinnedKeys {
  if (enclosed === null) return refused('With a key id alone, the export must hold the key. Paste the key itself.');
  const result = parsePublicKey(enclosed);
  if (result.kind === 'key' && ids.includes(result.key.key_id.slice('sha256:'.length))) return pinned([enclosed]);
  return { ...refused('The key in the export has another id than the one you pinned.'), isMismatch: true };
}

function pinned(pems: readonly string[]): PinnedKeys {
  return { pems, log: null, problem: null, isMismatch: false };
}

function refused(problem: string): PinnedKeys {
  return { pems: [], log: null, problem, isMismatch: false };
}
