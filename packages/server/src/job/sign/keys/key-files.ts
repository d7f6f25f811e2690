/**
 * The signing keys' files, in a directory below the data directory: one private key, readable only by its owner, and the public
 * half of every key that was ever current. A key is replaced by a rename, so a crash leaves either the old or the new key.
 */
import assert from 'node:assert';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import { type PinnedKey, parsePublicKey } from '@vouchbox/evidence';
import { replaceDurably, syncDirectory, writeDurably } from '../../../ground/durably.ts';
import { SigningKeyError } from './signing-key-error.ts';

/** The private key that signs, and its public half. */
export interface SigningKey {
  readonly key_id: string;
  readonly privateKey: KeyObject;
  /** Canonical SPKI. */
  readonly public_key_pem: string;
  readonly pinned: PinnedKey;
}

/** A public key that was current at some time. */
export interface RetainedKey {
  readonly key_id: string;
  readonly public_key_pem: string;
  /** When the key became current, according to its file. */
  readonly since: string;
  readonly pinned: PinnedKey;
}

/** The paths of the key files below a data directory. */
export function keyPaths(dataDir: string) {
  return keyPathsIn(join(dataDir, 'attestation-keys'));
}

/** The paths of the key files in a directory with the content of `attestation-keys`, whatever the directory's name is. */
export function keyPathsIn(directory: string) {
  return {
    directory,
    privateKey: join(directory, 'signing-key.pem'),
    logKey: join(directory, 'log-key.pem'),
    publicKeys: join(directory, 'public-keys'),
  };
}

const ROTATE_HINT = 'make a new one with `vouchbox attestation-keys rotate`';

/** Makes the directories that are missing. @throws SigningKeyError if others may read the directories. */
export function openKeyDirectory(dataDir: string): void {
  const { directory, publicKeys } = keyPaths(dataDir);
  for (const path of [directory, publicKeys]) {
    const stats = usable(path, () => {
      if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
      return lstatSync(path);
    });
    if (!stats.isDirectory()) throw new SigningKeyError('unusable', `${path} is not a directory`);
    refuseOthers(path, stats, '700');
  }
}

/** Whether a data directory ever had keys. */
export function hasKeyDirectory(dataDir: string): boolean {
  return existsSync(keyPaths(dataDir).directory);
}

/** A text that changes whenever the private key's file changes; null if there is no file. */
export function privateKeyVersion(dataDir: string): string | null {
  const { privateKey: path } = keyPaths(dataDir);
  try {
    const { ino, mtimeMs, size, mode, uid } = lstatSync(path);
    return [ino, mtimeMs, size, mode, uid].join(' ');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unusableFile(path, cause);
  }
}

/**
 * The stored private key.
 *
 * @throws SigningKeyError if there is none, if it is not an Ed25519 key, or if others may read it.
 */
export function readPrivateKey(dataDir: string): SigningKey {
  return readKeyFile(keyPaths(dataDir).privateKey);
}

/** A private key in a file. @throws SigningKeyError as `readPrivateKey` does */
export function readKeyFile(path: string): SigningKey {
  const { pem, stats } = readOwnFile(path);
  refuseOthers(path, stats, '600');
  return signingKeyOf(path, pem);
}

/** The public half of the stored private key, even if users other than its owner can read that key; null if it cannot be read. */
export function readPublicHalf(dataDir: string): SigningKey | null {
  const { privateKey: path } = keyPaths(dataDir);
  try {
    return signingKeyOf(path, readOwnFile(path).pem);
  } catch (error) {
    if (error instanceof SigningKeyError && error.problem !== 'unusable') return null;
    throw error;
  }
}

/** Makes a key and replaces the stored one. Durable when it returns. */
export function replacePrivateKey(dataDir: string): SigningKey {
  return makeKeyFile(keyPaths(dataDir).privateKey);
}

/** Makes a key in a file, and replaces a key that is already there. Durable when it returns. */
export function makeKeyFile(path: string): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  return usable(path, () => {
    replaceDurably(path, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, 0o600);
    return signingKeyOf(path, privateKey);
  });
}

/** Adds a public key to the kept ones, unless it is already there. Durable when it returns. */
export function retainPublicKey(dataDir: string, { key_id, public_key_pem }: SigningKey): void {
  const { publicKeys } = keyPaths(dataDir);
  const path = join(publicKeys, publicKeyFile(key_id));
  usable(path, () => {
    const names = readdirSync(publicKeys);
    if (names.includes(publicKeyFile(key_id))) return;
    const fresh = `${path}.new`;
    rmSync(fresh, { force: true });
    writeDurably(fresh, public_key_pem, 0o600);
    renameSync(fresh, path);
    syncDirectory(publicKeys);
  });
}

/** Every kept public key, oldest first. @throws SigningKeyError if a file does not hold the key that its name states. */
export function retainedKeys(dataDir: string): RetainedKey[] {
  const { publicKeys } = keyPaths(dataDir);
  const names = usable(publicKeys, () => readdirSync(publicKeys)).filter((name) => name.endsWith('.pem'));
  const keys = names.map((name) => {
    const path = join(publicKeys, name);
    const public_key_pem = usable(path, () => readFileSync(path, 'utf8'));
    const parsed = parsePublicKey(public_key_pem);
    if (parsed.kind === 'refused' || publicKeyFile(parsed.key.key_id) !== name) {
      throw new SigningKeyError('malformed', `${path} is not the public key that its name says`, {
        hint: 'restore it from a backup, or remove it',
      });
    }
    const { mtime } = usable(path, () => lstatSync(path));
    return { key_id: parsed.key.key_id, public_key_pem, since: mtime.toISOString(), pinned: parsed.key };
  });
  return keys.sort(byAge);
}

/** Compares two keys for sorting, the older first. */
export const byAge = (one: RetainedKey, other: RetainedKey): number => one.since.localeCompare(other.since);

/** @throws SigningKeyError `missing` */
export function refuseMissing(dataDir: string): never {
  const { privateKey } = keyPaths(dataDir);
  throw new SigningKeyError('missing', `the signing key ${privateKey} is gone, though results were signed here`, {
    hint: `restore it, or ${ROTATE_HINT}`,
  });
}

function publicKeyFile(key_id: string): string {
  return `${key_id.replace('sha256:', '')}.pem`;
}

function signingKeyOf(path: string, material: string | KeyObject): SigningKey {
  const privateKey = typeof material === 'string' ? parsePrivateKey(material) : material;
  if (privateKey?.asymmetricKeyType !== 'ed25519') {
    throw new SigningKeyError('malformed', `${path} is not an Ed25519 private key in PEM`, {
      hint: `restore it, or ${ROTATE_HINT}`,
    });
  }
  const public_key_pem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }) as string;
  const parsed = parsePublicKey(public_key_pem);
  assert(parsed.kind === 'key', 'OpenSSL writes keys in their canonical form');
  return { key_id: parsed.key.key_id, privateKey, public_key_pem, pinned: parsed.key };
}

/** The key in a text; null if the text is not a key. The parser's reason is withheld, because it could quote a secret. */
function parsePrivateKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

/** Reads a file, and the facts about it from the same open file. Follows no link. */
function readOwnFile(path: string): { pem: string; stats: Stats } {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new SigningKeyError('missing', `there is no signing key ${path}`, { hint: ROTATE_HINT, cause });
    }
    throw unusableFile(path, cause);
  }
  try {
    return usable(path, () => ({ stats: fstatSync(descriptor), pem: readFileSync(descriptor, 'utf8') }));
  } finally {
    closeSync(descriptor);
  }
}

function refuseOthers(path: string, { mode, uid }: Stats, wanted: string): void {
  if (uid !== process.geteuid?.()) {
    throw new SigningKeyError('exposed', `${path} belongs to another user`, { hint: 'chown it to this user' });
  }
  if ((mode & 0o077) !== 0) {
    throw new SigningKeyError('exposed', `${path} is open to other users (mode ${(mode & 0o777).toString(8)})`, {
      hint: `chmod ${wanted} ${path}`,
    });
  }
}

function usable<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw cause instanceof SigningKeyError ? cause : unusableFile(path, cause);
  }
}

function unusableFile(path: string, cause: unknown): SigningKeyError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  return new SigningKeyError('unusable', `${path} cannot be used: ${code}`, { cause });
}
