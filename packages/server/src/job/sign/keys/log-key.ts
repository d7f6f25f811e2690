/**
 * The key of the log. It has a file of its own beside the signing key, and signs only heads. It is made when the log is opened,
 * and never replaced: another key would mean another log.
 */
import type { KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { keyPaths, makeKeyFile, openKeyDirectory, readKeyFile } from './key-files.ts';

export interface LogKey {
  readonly privateKey: KeyObject;
  /** The 32 bytes of its public half. */
  readonly raw: Uint8Array<ArrayBuffer>;
}

/**
 * The key of the log. If there is none: null, or a new key if `mayMake`. @throws SigningKeyError if it must not be used as it is
 * stored
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
