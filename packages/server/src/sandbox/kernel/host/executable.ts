/**
 * The path of an executable on the host, the version that it reports, and its digest. A file that has not changed is not run or
 * read again: its inode, size and change time identify it, and only root could forge those.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hashFile } from './hash-file.ts';
import { hostPatience } from './patience.ts';
import { bootId, recall, remember } from './remembered.ts';
import { runDirectoryOf } from './run-directory.ts';

const run = promisify(execFile);
/** How long a program may take to print its version on an ordinary host. */
const VERSION_MILLISECONDS_MAX = 5000;
const digestsFile = () => runDirectoryOf('executables.json');
const versionsFile = () => runDirectoryOf('versions.json');

const SEARCH_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

const said = new Map<string, Promise<string>>();

/** The path of a program of this name. Throws one line for the operator if it is not installed. */
export function installed(name: string): string {
  for (const directory of SEARCH_PATH) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {}
  }
  throw new Error(`${name} is not installed (Debian, Ubuntu: apt-get install ${name})`);
}

/**
 * The version that a program prints with `--version`; null if its output does not match. The program is run once after each boot,
 * and again if it changed or its output did not match.
 */
export async function versionOf(path: string, pattern: RegExp, remembered = versionsFile()): Promise<string | null> {
  const identity = identityOf(path);
  const known = recalled(remembered, path, identity);
  if (known !== null && pattern.test(known)) return versionIn(known, pattern);
  const answer = said.get(identity) ?? askVersion(path);
  said.set(identity, answer);
  try {
    const version = versionIn(await answer, pattern);
    if (version !== null) rememberOf(remembered, path, { identity, fact: await answer });
    return version;
  } catch (error) {
    said.delete(identity);
    throw error;
  }
}

async function askVersion(path: string): Promise<string> {
  const timeout = VERSION_MILLISECONDS_MAX * (await hostPatience());
  return (await run(path, ['--version'], { timeout })).stdout;
}

function versionIn(text: string, pattern: RegExp): string | null {
  return pattern.exec(text)?.[1] ?? null;
}

/** SHA-256 of an executable, in hex. The executable is read once after each boot, and again if it changed. */
export function digestOf(path: string, remembered = digestsFile()): string {
  const identity = identityOf(path);
  const known = recalled(remembered, path, identity);
  if (known !== null) return known;
  const sha256 = hashFile(path);
  // If the file changed during the reading, its old identity is remembered here, so the next call reads the file again.
  rememberOf(remembered, path, { identity, fact: sha256 });
  return sha256;
}

/** The known fact about each path. It is valid as long as the path leads to the same file. */
type Known = Readonly<Record<string, { readonly identity: string; readonly fact: string }>>;

function recalled(file: string, path: string, identity: string): string | null {
  const known = (recall(file) as Known | null)?.[path];
  return known?.identity === identity && typeof known.fact === 'string' ? known.fact : null;
}

function rememberOf(file: string, path: string, fact: Known[string]): void {
  try {
    remember(file, { ...(recall(file) as Known | null), [path]: fact });
  } catch {} // If this user may not write there, executables are run or read each time.
}

function identityOf(path: string): string {
  const { dev, ino, size, ctimeNs } = statSync(path, { bigint: true });
  // After another boot the clock, and so the change time, may have been set back.
  return [path, bootId(), dev, ino, size, ctimeNs].join(' ');
}
