/**
 * What is known of an executable of the host: which version it says it is, and its digest. A file that the kernel says has not
 * changed is not asked or read again: its number, size and change time are its identity, and only root could forge those.
 */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';
import { hashFile } from '../packs/manifest.ts';
import { bootId, recall, remember } from './remembered.ts';

const run = promisify(execFile);
const VERSION_MILLISECONDS_MAX = 5000;
const DIGESTS = '/run/svc/executables.json';
const VERSIONS = '/run/svc/versions.json';

const said = new Map<string, Promise<string>>();

/**
 * What a program says of its version with `--version`; null if that does not fit. It is asked once in each run of the
 * machine, and again where it was changed, or said nothing that fits.
 */
export async function versionOf(path: string, pattern: RegExp, remembered = VERSIONS): Promise<string | null> {
  const identity = identityOf(path);
  const known = recalled(remembered, path, identity);
  if (known !== null && pattern.test(known)) return versionIn(known, pattern);
  const answer =
    said.get(identity) ?? run(path, ['--version'], { timeout: VERSION_MILLISECONDS_MAX }).then((r) => r.stdout);
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

function versionIn(text: string, pattern: RegExp): string | null {
  return pattern.exec(text)?.[1] ?? null;
}

/** SHA-256 of an executable, in hex. It is read once in each run of the machine, and again where it was changed. */
export function digestOf(path: string, remembered = DIGESTS): string {
  const identity = identityOf(path);
  const known = recalled(remembered, path, identity);
  if (known !== null) return known;
  const sha256 = hashFile(path);
  // A file that was changed while it was read is remembered as what it was before: the next look reads it again.
  rememberOf(remembered, path, { identity, fact: sha256 });
  return sha256;
}

/** What is known of each path, as long as that is the same file. */
type Known = Readonly<Record<string, { readonly identity: string; readonly fact: string }>>;

function recalled(file: string, path: string, identity: string): string | null {
  const known = (recall(file) as Known | null)?.[path];
  return known?.identity === identity && typeof known.fact === 'string' ? known.fact : null;
}

function rememberOf(file: string, path: string, fact: Known[string]): void {
  try {
    remember(file, { ...(recall(file) as Known | null), [path]: fact });
  } catch {} // Who may not write there asks and reads each time.
}

function identityOf(path: string): string {
  const { dev, ino, size, ctimeNs } = statSync(path, { bigint: true });
  // A change time may be set back together with the clock of another run of the machine.
  return [path, bootId(), dev, ino, size, ctimeNs].join(' ');
}
