/**
 * The log's key. It has its own file beside the signing key, and signs only heads. It is made when the log is opened and is never
 * replaced, because another key would mean another log.
 */
import type { KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { keyPaths, makeKeyFile, openKeyDirectory, readKeyFile } from './key-files.ts';

export interface LogKey {
  readonly privateKey: KeyObject;
  /** The 32 bytes of the public half. */
  readonly raw: Uint8Array<ArrayBuffer>;
}

/**
 * The log's key. If there is none, makes a key if `mayMake` is true, else returns null. @throws SigningKeyError if the key
 * must not be used as it is stored
 */
export function openLogKey(dataDir: string, { mayMake }: { readonly mayMake: boolean }): LogKey | null {
  openKeyDirectory(dataDir);
  const path = keyPaths(dataDir).logKey;
  if (!existsSync(path)) {
    if (!mayMake) return null;
    makeKeyFile(path);
  }
  const { privateKey, pinned } = readKeyFile(path);
  return { privateKey, raw: pinned.raw };
}
