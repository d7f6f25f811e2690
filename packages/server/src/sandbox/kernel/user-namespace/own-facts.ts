/** Reads what `ordinary-user.ts` decides by, for this process. */
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { nativeProblem } from '../../native/native.ts';
import { isAllowedByProfile } from './apparmor.ts';
import { type OrdinaryUserFacts, subordinatesIn } from './ordinary-user.ts';

/** The programs that `enter.c` starts. */
const MAPPERS = ['/usr/bin/newuidmap', '/usr/bin/newgidmap'];

/** The one that a profile may except a program from. */
const APPARMOR = 'kernel.apparmor_restrict_unprivileged_userns';

/** Settings below /proc/sys, the value by which each refuses user namespaces, and one that allows them. */
const SETTINGS = [
  { name: 'kernel.unprivileged_userns_clone', refuses: '0', allows: '1' },
  { name: 'user.max_user_namespaces', refuses: '0', allows: '15000' },
  { name: APPARMOR, refuses: '1', allows: '0' },
] as const;

export function ownFacts(): OrdinaryUserFacts {
  const names = namesOfUser();
  return {
    user: names[0] as string,
    refusals: SETTINGS.filter(({ name, refuses }) => settingOf(name) === refuses)
      .filter(({ name }) => name !== APPARMOR || !isAllowedByProfile())
      .map(({ name, allows }) => `${name}=${allows}`),
    hasName: names.length > 1,
    hasMappers: MAPPERS.every((program) => existsSync(program)),
    users: subordinatesIn(readIfThere('/etc/subuid'), names),
    groups: subordinatesIn(readIfThere('/etc/subgid'), names),
    noNewPrivileges: /^NoNewPrivs:\s*1$/m.test(readIfThere('/proc/self/status')),
    isBuilt: nativeProblem(['svc-enter']) === null,
  };
}

/** A user may be in no database: then it has its number alone. */
function namesOfUser(): readonly string[] {
  const number = String(process.geteuid?.());
  try {
    return [userInfo().username, number];
  } catch {
    return [number];
  }
}

function settingOf(name: string): string {
  return readIfThere(join('/proc/sys', name.replaceAll('.', '/'))).trim();
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
