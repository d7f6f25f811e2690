/**
 * Makes a data directory from a backup, for a service that was lost or moved. The new directory is filled and checked
 * beside its final place, then renamed, so that there is a complete data directory or none. Nothing is overwritten.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { syncDirectory, syncFile } from '../ground/durably.ts';
import { makeDirectories } from '../ground/make-directories.ts';
import { keyPaths, keyPathsIn, readPrivateKey } from '../job/sign/keys/key-files.ts';
import { SigningKeyError } from '../job/sign/keys/signing-key-error.ts';
import { knownKeys } from '../job/sign/keys/signing-keys.ts';
import { openStore } from '../store/open-store.ts';
import { StoreError } from '../store/store-error.ts';
import { OperatorError } from './operator-error.ts';

export interface RestoreOptions {
  /** A file that `vouchbox backup` made. The restore only reads it. */
  readonly backup: string;
  /** A copy of the directory `attestation-keys`; null if the first start should make a new key. */
  readonly attestationKeys: string | null;
  /** The new data directory, as an absolute path. It must be missing or empty. */
  readonly dataDir: string;
}

/**
 * Restores a store and its signing keys. The backup is opened like a service's store, upgraded if an older version wrote it, and
 * every chain and receipt is recomputed. The copy is durable when this resolves. `hasLog` says whether the restore closed a log.
 *
 * @throws OperatorError, with one clear line. The failed attempt leaves nothing behind
 */
export async function restore({ backup, attestationKeys, dataDir }: RestoreOptions): Promise<{ hasLog: boolean }> {
  await orOperatorError(async () => {
    refuseUnlessEmpty(dataDir);
    refuseUnlessBackup(backup);
  });
  const prepared = `${dataDir}.restoring`;
  try {
    return await orOperatorError(async () => {
      makeEmpty(prepared);
      copyDurably(backup, join(prepared, 'svc.db'));
      const hasLog = await checkStore(prepared, backup);
      if (attestationKeys !== null) copyKeys(attestationKeys, prepared);
      syncDirectory(prepared);
      // The rename fails if `dataDir` has got a file meanwhile, because rename(2) replaces only empty directories.
      renameSync(prepared, dataDir);
      syncDirectory(dirname(dataDir));
      return { hasLog };
    });
  } finally {
    rmSync(prepared, { recursive: true, force: true });
  }
}

function refuseUnlessEmpty(dataDir: string): void {
  const facts = statSync(dataDir, { throwIfNoEntry: false });
  if (facts === undefined || (facts.isDirectory() && readdirSync(dataDir).length === 0)) return;
  throw new OperatorError(`${dataDir} is not empty, and a restore overwrites nothing`, {
    hint: 'name a directory that is not there yet, or move this one away',
  });
}

function refuseUnlessBackup(backup: string): void {
  const facts = statSync(backup, { throwIfNoEntry: false });
  if (facts === undefined) throw new OperatorError(`there is no file ${backup}`);
  if (!facts.isFile()) throw new OperatorError(`${backup} is not a file`);
  if (existsSync(`${backup}-wal`)) {
    throw new OperatorError(`${backup} is a store with a log beside it, not a backup`, {
      hint: 'make one of it with `vouchbox backup`',
    });
  }
}

/** Makes an empty directory, after removing what an earlier attempt left in its place. */
function makeEmpty(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  makeDirectories(dirname(directory), 0o700);
  mkdirSync(directory, { mode: 0o700 });
}

/** Opens the store like a service, so that the next start accepts what this check accepts. Returns whether it closed a log. */
async function checkStore(dataDir: string, backup: string): Promise<boolean> {
  try {
    await using store = await openStore({ dataDir, check: 'full' });
    // The copy lacks entries that were logged after the backup, so the next head of the copy's log would be a fork.
    return await store.closeLog();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const reason = error.message.replace(`${join(dataDir, 'svc.db')}: `, '');
    throw new OperatorError(`${backup} cannot be restored: ${reason}`, { cause: error });
  }
}

/** Copies every public key and, if there is one, the private key. Then reads the keys like a service. */
function copyKeys(source: string, dataDir: string): void {
  const from = keyPathsIn(source);
  const to = keyPaths(dataDir);
  mkdirSync(to.directory, { mode: 0o700 });
  mkdirSync(to.publicKeys, { mode: 0o700 });
  copyDurably(from.privateKey, to.privateKey);
  if (existsSync(from.logKey)) copyDurably(from.logKey, to.logKey);
  for (const name of existsSync(from.publicKeys) ? readdirSync(from.publicKeys) : []) {
    if (name.endsWith('.pem')) copyDurably(join(from.publicKeys, name), join(to.publicKeys, name));
  }
  readPrivateKey(dataDir);
  knownKeys(dataDir);
  for (const directory of [to.publicKeys, to.directory]) syncDirectory(directory);
}

function copyDurably(source: string, target: string): void {
  copyFileSync(source, target, constants.COPYFILE_EXCL);
  chmodSync(target, 0o600);
  syncFile(target);
}

/** Turns errors about files and keys into one line. */
async function orOperatorError<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SigningKeyError) {
      throw new OperatorError(`the signing keys cannot be restored: ${error.message}`, { cause: error });
    }
    const { code, path, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
    if (error instanceof OperatorError || code === undefined || path === undefined) throw error;
    throw new OperatorError(`${dest ?? path} cannot be made or read: ${code}`, {
      hint: HINTS[code] ?? null,
      cause: error,
    });
  }
}

const HINTS: Readonly<Record<string, string>> = {
  EBUSY: 'a file system is mounted there: name a directory inside it',
  EXDEV: 'a file system is mounted there: name a directory inside it',
};
