/** A small log in memory with its own keys. For tests, it makes heads, proofs and witness signatures. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  checkpointText,
  consistencyRanges,
  consistencyText,
  cosignedMessage,
  decodeEnvelope,
  type Hash,
  inclusionRanges,
  type LogName,
  leafHash,
  logEntryBody,
  logProofText,
  type NodeHashes,
  type NoteKey,
  type NoteKeyType,
  nodeHash,
  noteKey,
  noteKeyText,
  noteText,
  originOfLog,
  parsePublicKey,
  rangeHash,
  rekorKeyOf,
  rekorOriginOf,
  type SignedStatement,
  signatureLine,
} from '@vouchbox/evidence';

/** A key pair, with the key's name in notes. */
export interface TestNoteKey {
  readonly noteKey: NoteKey;
  /** The public key in the form that readers pin. */
  readonly text: string;
  readonly privateKey: KeyObject;
}

export function testNoteKey(name: string, type: NoteKeyType): TestNoteKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = new Uint8Array(Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url'));
  const made = noteKey(name, type, raw);
  if (made.kind === 'refused') throw new Error(made.reason);
  return { noteKey: made.key, text: noteKeyText(made.key), privateKey };
}

/** The line with a key's signature on a text. */
export function testSignature({ noteKey: { name, hint }, privateKey }: TestNoteKey, text: string): string {
  return signatureLine({ name, hint, bytes: new Uint8Array(sign(null, Buffer.from(text), privateKey)) });
}

/** The line in which a witness says that it saw the checkpoint with this text. */
export function testCosignature(
  { noteKey: { name, hint }, privateKey }: TestNoteKey,
  text: string,
  time: number,
): string {
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(BigInt(time));
  const bytes = Buffer.concat([stamp, sign(null, cosignedMessage(text, time), privateKey)]);
  return signatureLine({ name, hint, bytes: new Uint8Array(bytes) });
}

export class TestLog {
  readonly key: TestNoteKey;
  readonly #name: LogName;
  readonly #leaves: Hash[] = [];

  /** Makes a log with an opening leaf. */
  constructor(name: LogName = { host: 'log.example', tree: 1 }, key = testNoteKey(originOfLog(name), 'note')) {
    this.#name = name;
    this.key = key;
    this.append(new TextEncoder().encode('the opening statement'));
  }

  /** This log's next tree, with the same key under the tree's new name. */
  reopened(): TestLog {
    const { host, tree } = this.#name;
    const name = { host, tree: tree + 1 };
    const made = noteKey(originOfLog(name), 'note', this.key.noteKey.key.raw);
    if (made.kind === 'refused') throw new Error(made.reason);
    return new TestLog(name, { ...this.key, noteKey: made.key, text: noteKeyText(made.key) });
  }

  get size(): number {
    return this.#leaves.length;
  }

  /** Appends a leaf, and returns the leaf's position. */
  append(body: Uint8Array): number {
    return this.#leaves.push(leafHash(body)) - 1;
  }

  /** Appends the leaf for an envelope and the key that signed it, and returns the leaf's position. */
  appendSigned(envelope: Uint8Array, publicKeyPem: string): number {
    const [decoded, parsed] = [decodeEnvelope(envelope), parsePublicKey(publicKeyPem)];
    if (decoded.kind === 'refused' || parsed.kind === 'refused') throw new Error('this is no signed statement');
    const [signature] = decoded.envelope.signatures;
    const statement = { bytes: envelope, envelope: decoded.envelope, signature, key: parsed.key };
    return this.append(logEntryBody(statement as SignedStatement));
  }

  /** Removes all leaves, including the opening leaf. */
  restart(): void {
    this.#leaves.splice(0);
  }

  /** Another log that begins with the same leaves and is signed by the same key. */
  fork(): TestLog {
    const fork = new TestLog(this.#name);
    Object.assign(fork, { key: this.key });
    fork.#leaves.splice(0, 1, ...this.#leaves);
    return fork;
  }

  /** The text that the log and its witnesses sign. */
  headText(size = this.size): string {
    return checkpointText(originOfLog(this.#name), { size, root: rangeHash({ start: 0, end: size }, this.#hashes) });
  }

  /** The signed head, with the log's line before the witnesses' lines. */
  checkpoint(size = this.size, ...cosignatures: readonly string[]): string {
    const text = this.headText(size);
    return `${text}\n${testSignature(this.key, text)}${cosignatures.join('')}`;
  }

  rekorHead(size = this.size): string {
    const text = checkpointText(rekorOriginOf(this.#name), {
      size,
      root: rangeHash({ start: 0, end: size }, this.#hashes),
    });
    const noteKey = rekorKeyOf(this.key.noteKey, this.#name);
    const bytes = new Uint8Array(sign(null, Buffer.from(text), this.key.privateKey));
    return noteText({ text, signatures: [{ name: noteKey.name, hint: noteKey.hint, bytes }] });
  }

  inclusion(index: number, size = this.size): Hash[] {
    return inclusionRanges(index, size).map((range) => rangeHash(range, this.#hashes));
  }

  proof(index: number, { size = this.size, cosignatures = [] as readonly string[] } = {}): string {
    const hashes = this.inclusion(index, size);
    return logProofText({
      index,
      hashes,
      checkpoint: this.checkpoint(size, ...cosignatures),
      rekorHead: this.rekorHead(size),
    });
  }

  consistencyHashes(old: number, size = this.size): Hash[] {
    return consistencyRanges(old, size).map((range) => rangeHash(range, this.#hashes));
  }

  consistency(old: number, size = this.size): string {
    return consistencyText(old, this.consistencyHashes(old, size), this.checkpoint(size));
  }

  readonly #hashes: NodeHashes = ({ level, index }) => {
    if (level === 0) return this.#leaves[index] as Hash;
    return nodeHash(
      this.#hashes({ level: level - 1, index: 2 * index }),
      this.#hashes({ level: level - 1, index: 2 * index + 1 }),
    );
  };
}
