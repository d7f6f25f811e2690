/** Reads the facts about this process from which `ordinary-user.ts` decides. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { nativeProblem } from '../../native/native.ts';
import { enterProgram, isAllowedByProfile } from './apparmor.ts';
import { type OrdinaryUserFacts, subordinatesIn } from './ordinary-user.ts';

/** The programs that `enter.c` starts. */
const MAPPERS = ['/usr/bin/newuidmap', '/usr/bin/newgidmap'];

/** The setting for AppArmor's rule. A profile may exempt a program from the rule. */
const APPARMOR = 'kernel.apparmor_restrict_unprivileged_userns';

/** The setting that also applies to root. */
const OF_ALL = 'user.max_user_namespaces';

/** Settings below /proc/sys, each with the value that refuses user namespaces and one that allows them. */
const SETTINGS = [
  { name: 'kernel.unprivileged_userns_clone', refuses: '0', allows: '1' },
  { name: OF_ALL, refuses: '0', allows: '15000' },
  { name: APPARMOR, refuses: '1', allows: '0' },
] as const;

export function ownFacts(): OrdinaryUserFacts {
  const names = namesOfUser();
  const refusals = refusalsBy(SETTINGS).filter((refusal) => !refusal.startsWith(APPARMOR) || !isAllowedByProfile());
  const isBuilt = nativeProblem(['svc-enter']) === null;
  return {
    user: names[0] as string,
    refusals,
    saidOnTrial: isBuilt && refusals.length === 0 ? saidOnTrial() : null,
    hasName: names.length > 1,
    hasMappers: MAPPERS.every((program) => existsSync(program)),
    users: subordinatesIn(readIfThere('/etc/subuid'), names),
    groups: subordinatesIn(readIfThere('/etc/subgid'), names),
    noNewPrivileges: /^NoNewPrivs:\s*1$/m.test(readIfThere('/proc/self/status')),
    isBuilt,
  };
}

/** The setting that refuses user namespaces even to root; null if none does. Root's cells need user namespaces, too. */
export function refusalOfRoot(): string | null {
  return refusalsBy(SETTINGS.filter(({ name }) => name === OF_ALL))[0] ?? null;
}

/** The settings that refuse user namespaces, each as the `NAME=VALUE` that would allow them. */
function refusalsBy(settings: readonly (typeof SETTINGS)[number][]): readonly string[] {
  return settings
    .filter(({ name, refuses }) => settingOf(name) === refuses)
    .map(({ name, allows }) => `${name}=${allows}`);
}

/** The names of this user; only its number if it is in no database. */
function namesOfUser(): readonly string[] {
  const number = String(process.geteuid?.());
  try {
    return [userInfo().username, number];
  } catch {
    return [number];
  }
}

/** The kernel's answer when this user makes a user namespace; null if that works. A container's filter shows only in a trial. */
function saidOnTrial(): string | null {
  const { status, stderr } = spawnSync(enterProgram(), ['0', '0', '0', '/bin/true'], { encoding: 'utf8' });
  return status === 0 ? null : stderr.trim().replace(/^vouchbox: /, '');
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
