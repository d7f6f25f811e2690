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
const REMEMBERED = '/run/svc/executables.json';

const said = new Map<string, Promise<string>>();

/** What a program says of its version with `--version`; null where that does not fit. Asked once while the file stays. */
export async function versionOf(path: string, pattern: RegExp): Promise<string | null> {
  const key = identityOf(path);
  const known = said.get(key) ?? run(path, ['--version'], { timeout: VERSION_MILLISECONDS_MAX }).then((r) => r.stdout);
  said.set(key, known);
  try {
    return pattern.exec(await known)?.[1] ?? null;
  } catch (error) {
    said.delete(key);
    throw error;
  }
}

/** SHA-256 of an executable, in hex. It is read once in each run of the machine, and again where it was changed. */
export function digestOf(path: string, remembered = REMEMBERED): string {
  const identity = identityOf(path);
  const known = (recall(remembered) as Known | null) ?? {};
  const digest = known[path]?.identity === identity ? known[path].digest : null;
  if (digest !== null) return digest;
  const sha256 = hashFile(path);
  // A file that was changed while it was read is remembered as what it was before: the next look reads it again.
  try {
    remember(remembered, { ...known, [path]: { identity, digest: sha256 } });
  } catch {} // Who may not write there reads the file each time.
  return sha256;
}

type Known = Readonly<Record<string, { readonly identity: string; readonly digest: string }>>;

function identityOf(path: string): string {
  const { dev, ino, size, ctimeNs } = statSync(path, { bigint: true });
  // A change time may be set back together with the clock of another run of the machine.
  return [path, bootId(), dev, ino, size, ctimeNs].join(' ');
}
