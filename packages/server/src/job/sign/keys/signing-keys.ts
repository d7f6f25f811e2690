/**
 * The keys of this service: the key that signs now, and the public half of every earlier key. A rotation takes effect
 * without a restart, because the stored key is checked again before each signature. Spec § Authentication 10.
 */
import type { PinnedKey } from '@vouchbox/evidence';
import {
  byAge,
  hasKeyDirectory,
  openKeyDirectory,
  privateKeyVersion,
  type RetainedKey,
  readPrivateKey,
  readPublicHalf,
  refuseMissing,
  replacePrivateKey,
  retainedKeys,
  retainPublicKey,
  type SigningKey,
} from './key-files.ts';

/** The keys of a running service. */
export interface SigningKeys {
  /** The key to sign with now. @throws SigningKeyError if the stored key can no longer be used. */
  current(): SigningKey;
  /** The current key, or the last key that could be used. */
  published(): SigningKey;
  /** The public half of a key that this service has signed with; null for any other key. */
  publicKey(key_id: string): PinnedKey | null;
}

/** A key of this service, as an operator lists it. */
export interface KnownKey extends RetainedKey {
  readonly isCurrent: boolean;
}

/**
 * Opens the keys in a data directory, and makes the first key if there never was one.
 *
 * @throws SigningKeyError if there was a key before and it is gone, or if the key must not be used as it is stored.
 */
export function openSigningKeys(dataDir: string): SigningKeys {
  openKeyDirectory(dataDir);
  const isFirstStart = privateKeyVersion(dataDir) === null && retainedKeys(dataDir).length === 0;
  if (isFirstStart) replacePrivateKey(dataDir);
  let loaded = load(dataDir);
  const current = () => {
    if (privateKeyVersion(dataDir) !== loaded.version) loaded = load(dataDir);
    return loaded.key;
  };
  return {
    current,
    published() {
      try {
        return current();
      } catch {
        // The attestor reports why the current key cannot be used.
        return loaded.key;
      }
    },
    publicKey: (key_id) => loaded.publicKeys.get(key_id) ?? null,
  };
}

/** The keys as they were stored at one time. */
interface LoadedKeys {
  readonly key: SigningKey;
  readonly version: string;
  readonly publicKeys: ReadonlyMap<string, PinnedKey>;
}

function load(dataDir: string): LoadedKeys {
  const version = privateKeyVersion(dataDir);
  if (version === null) refuseMissing(dataDir);
  const key = readPrivateKey(dataDir);
  retainPublicKey(dataDir, key);
  return { key, version, publicKeys: new Map(retainedKeys(dataDir).map(({ pinned }) => [pinned.key_id, pinned])) };
}

/**
 * Makes a new key and makes it current. The public half of the old key is kept. The private half is deleted, because it
 * never signs again. A running service uses the new key from its next signature on.
 *
 * @throws SigningKeyError
 */
export function rotateSigningKey(dataDir: string): { readonly retired: string | null; readonly current: string } {
  openKeyDirectory(dataDir);
  const old = readPublicHalf(dataDir);
  if (old !== null) retainPublicKey(dataDir, old);
  const fresh = replacePrivateKey(dataDir);
  retainPublicKey(dataDir, fresh);
  return { retired: old?.key_id ?? null, current: fresh.key_id };
}

/**
 * Every key in a data directory, oldest first. Among keys of the same age, the current key comes last. Empty if there never was
 * a key. @throws SigningKeyError
 */
export function knownKeys(dataDir: string): KnownKey[] {
  if (!hasKeyDirectory(dataDir)) return [];
  openKeyDirectory(dataDir);
  const current = readPublicHalf(dataDir);
  if (current !== null) retainPublicKey(dataDir, current);
  const keys = retainedKeys(dataDir).map((key) => ({ ...key, isCurrent: key.key_id === current?.key_id }));
  return keys.sort((one, other) => byAge(one, other) || Number(one.isCurrent) - Number(other.isCurrent));
}
