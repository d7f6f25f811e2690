/**
 * AppArmor's rule on user namespaces, as Ubuntu has had it since 23.10: in such a namespace, an ordinary user's process has
 * rights only if a profile names its program. The rule stays on for all other programs: the profile names one program that no
 * user can write.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { StartError } from '../../../ground/start-error.ts';
import { nativePath } from '../../native/native.ts';

/** The place of the copy that the profile names. */
const SHARED = '/usr/local/lib/vouchbox/svc-enter';
const PROFILE = '/etc/apparmor.d/vouchbox';
const PARSER = '/usr/sbin/apparmor_parser';
const OWN = nativePath('svc-enter');

/** Gives rights only to that program. Its children keep the profile, so they can make cells in the namespace. */
const PROFILE_TEXT = `# Lets one program make user namespaces, in which cells of ordinary users are made. It belongs to root.
abi <abi/4.0>,
include <tunables/global>

profile vouchbox ${SHARED} flags=(unconfined) {
  userns,
}
`;

/** The program that makes a user namespace: the copy that a profile names, if it equals this service's program. */
export function enterProgram(): string {
  return isSame(SHARED) ? SHARED : OWN;
}

/** Whether the copy exists, belongs to root alone, and really makes a user namespace. */
export function isAllowedByProfile(): boolean {
  return enterProgram() === SHARED && spawnSync(SHARED, ['0', '0', '0', '/bin/true']).status === 0;
}

function isSame(copy: string): boolean {
  if (!existsSync(copy) || !existsSync(OWN)) return false;
  const { uid, mode } = statSync(copy);
  // The owner must be root of the host, whom an ordinary user's namespace does not map.
  return uid === 0 && (mode & 0o022) === 0 && readFileSync(copy).equals(readFileSync(OWN));
}

/**
 * Installs the copy and the profile, and loads the profile into the kernel.
 *
 * @param root where the host's root is
 * @returns what was done, with a line for each step
 * @throws StartError if the caller is not root, or if the parser refuses the profile
 */
export function installProfile(root = '/'): readonly string[] {
  if (process.geteuid?.() !== 0) throw new StartError('only root can install a profile of AppArmor');
  const copy = join(root, SHARED);
  mkdirSync(dirname(copy), { recursive: true, mode: 0o755 });
  // The copy is replaced by a rename, because it may be running.
  copyFileSync(OWN, `${copy}.new`);
  chmodSync(`${copy}.new`, 0o755);
  renameSync(`${copy}.new`, copy);
  const profile = join(root, PROFILE);
  mkdirSync(dirname(profile), { recursive: true });
  writeFileSync(profile, PROFILE_TEXT, { mode: 0o644 });
  const done = [`${SHARED}: the program that makes user namespaces`, `${PROFILE}: the profile that allows it`];
  if (!existsSync(join(root, PARSER))) {
    return [...done, `${PARSER} is not installed: a kernel with AppArmor reads the profile at its next start`];
  }
  try {
    execFileSync(join(root, PARSER), ['--replace', profile], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? error).trim();
    throw new StartError(`${PARSER} refuses ${PROFILE}: ${said.slice(0, 500)}`, { cause: error });
  }
  return [...done, 'the kernel has read it: ordinary users can make cells now'];
}
