/** Signs the log's heads in both of their forms, and the statement that opens the log. docs/decisions/0064. */
import { sign } from 'node:crypto';
import {
  canonicalJson,
  checkpointText,
  encodeEnvelope,
  type LogName,
  logEntryBody,
  type NoteKey,
  noteKey,
  noteKeyText,
  noteText,
  originOfLog,
  rekorKeyOf,
  rekorOriginOf,
  STATEMENT_TYPE,
  sha256Hex,
  signedEnvelope,
  type TreeHead,
} from '@vouchbox/evidence';
import type { LogHead, LogOpening } from '../../store/records/log.ts';
import type { SigningKey } from '../sign/keys/key-files.ts';
import type { LogKey } from '../sign/keys/log-key.ts';

export const OPENING_TYPE = 'urn:svc:predicate:log-opened:v1';

/** The log's key under the log's name. @throws if that name is not allowed as the name of a key */
export function logNoteKey(name: LogName, { raw }: LogKey): NoteKey {
  const made = noteKey(originOfLog(name), 'note', raw);
  if (made.kind === 'refused') throw new Error(`the log cannot be named ${originOfLog(name)}: ${made.reason}`);
  return made.key;
}

/** Both forms of a head. Sign only a tree that is committed. */
export function signHead(name: LogName, head: TreeHead, key: LogKey): LogHead {
  const own = logNoteKey(name, key);
  return {
    size: head.size,
    checkpoint: signedNote(checkpointText(originOfLog(name), head), own, key),
    rekor_head: signedNote(checkpointText(rekorOriginOf(name), head), rekorKeyOf(own, name), key),
  };
}

function signedNote(text: string, { name, hint }: NoteKey, { privateKey }: LogKey): string {
  const bytes = new Uint8Array(sign(null, Buffer.from(text), privateKey));
  return noteText({ text, signatures: [{ name, hint, bytes }] });
}

interface OpenedBy {
  readonly signer: SigningKey;
  readonly log: LogKey;
  readonly opened_at: string;
  /** The last known head of the previous tree, with its witnesses' lines. */
  readonly previous?: string | null;
}

/** A log's opening statement. In it, the key that signs results states which key signs heads, and since when. */
export function logOpening(name: LogName, { signer, log, opened_at, previous = null }: OpenedBy): LogOpening {
  const log_key = noteKeyText(logNoteKey(name, log));
  const origin = originOfLog(name);
  const payload = new TextEncoder().encode(
    canonicalJson({
      _type: STATEMENT_TYPE,
      subject: [{ name: origin, digest: { sha256: sha256Hex(log_key) } }],
      predicateType: OPENING_TYPE,
      predicate: { origin, tree: name.tree, logKey: log_key, openedAt: opened_at, previous },
    }),
  );
  const envelope = signedEnvelope(payload, {
    key_id: signer.key_id,
    sign: (message) => new Uint8Array(sign(null, message, signer.privateKey)),
  });
  const [signature] = envelope.signatures;
  const opening = encodeEnvelope(envelope);
  const body = logEntryBody({ bytes: opening, envelope, signature, key: signer.pinned });
  return { ...name, log_key, opening, body };
}
