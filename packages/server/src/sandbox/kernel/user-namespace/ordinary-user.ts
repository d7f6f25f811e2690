/**
 * Decides what an ordinary user needs on a host to make namespace cells, what each further right would add, and which of these
 * are missing. It decides from facts that `own-facts.ts` reads.
 */
import type { UserRange } from './mapped-users.ts';

/** Facts about this host and user. */
export interface OrdinaryUserFacts {
  /** The name of the user, or the number of a user without a name. */
  readonly user: string;
  /** The kernel settings that refuse user namespaces to ordinary users, each as the `NAME=VALUE` that would allow them. */
  readonly refusals: readonly string[];
  /** The kernel's error if all settings allow this user to make a user namespace, but the kernel refuses; null if it works. */
  readonly saidOnTrial: string | null;
  /** Whether the user is in the user database, as newuidmap(1) requires. */
  readonly hasName: boolean;
  /** Whether newuidmap(1) and newgidmap(1) are installed. */
  readonly hasMappers: boolean;
  /** Subordinate users and groups: subuid(5), subgid(5). */
  readonly users: UserRange | null;
  readonly groups: UserRange | null;
  /** Whether this process can gain no new privileges, so that newuidmap(1) would have none. */
  readonly noNewPrivileges: boolean;
  /** Whether the set-up has built the program that enters the namespace. */
  readonly isBuilt: boolean;
}

/** The missing part, in words for the operator, and its one remedy. */
export interface MissingRight {
  readonly missing: string;
  readonly fix: string;
}

/** The least number of subordinate users. Every cell takes two, and some cells wait for the next jobs. */
export const SUBORDINATES_MIN = 1024;

/** The missing rights without which no cell can be made, all reported together. */
export function missingRights({ refusals, saidOnTrial, isBuilt }: OrdinaryUserFacts): readonly MissingRight[] {
  return [
    ...refusals.map((refusal) => ({
      missing: 'user namespaces of an ordinary user',
      fix: refusal.startsWith('kernel.apparmor') ? APPARMOR : `as root: sysctl -w ${refusal}`,
    })),
    ...(saidOnTrial === null
      ? []
      : [{ missing: `user namespaces (the kernel says: ${saidOnTrial})`, fix: fixOf(saidOnTrial) }]),
    ...(isBuilt ? [] : [{ missing: 'what the set-up builds', fix: 'vouchbox setup' }]),
  ];
}

/** The remedy if the kernel refuses: either the user may have no further namespace, or a container refuses. */
function fixOf(said: string): string {
  return said.endsWith('No space left on device')
    ? 'as root: sysctl -w user.max_user_namespaces=15000'
    : 'in a container, start it with what docs/operating/containers.md names';
}

/** The remedy for AppArmor's rule: a profile exempts one program that no user can write, and no other program. */
const APPARMOR = 'as root: vouchbox setup --apparmor';

/** The missing rights for giving each cell two users that nobody else has, all reported together. */
export function missingUsers(facts: OrdinaryUserFacts): readonly MissingRight[] {
  const { user, hasName, hasMappers, noNewPrivileges } = facts;
  const hasUsers = isEnough(facts.users) && isEnough(facts.groups);
  return [
    ...(hasMappers ? [] : [{ missing: 'newuidmap and newgidmap', fix: 'as root: apt-get install uidmap' }]),
    ...(hasName ? [] : [{ missing: 'a name in the user database', fix: 'run it as a user whom getent passwd knows' }]),
    ...(hasUsers || !hasName
      ? []
      : [
          {
            missing: `${SUBORDINATES_MIN} subordinate users and groups of ${user} in /etc/subuid and /etc/subgid`,
            fix: `as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${user}`,
          },
        ]),
    ...(noNewPrivileges
      ? [
          {
            missing: "newuidmap's right to use its privileges",
            fix: 'take NoNewPrivileges=yes, and settings that imply it, out of the unit',
          },
        ]
      : []),
  ];
}

function isEnough(range: UserRange | null): boolean {
  return range !== null && range.count >= SUBORDINATES_MIN;
}

/** The user's largest range in the text of /etc/subuid or /etc/subgid. These files list a user by name or by number. */
export function subordinatesIn(text: string, names: readonly string[]): UserRange | null {
  const ranges = text
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([name = '']) => names.includes(name))
    .map(([, first, count]) => ({ first: Number(first), count: Number(count) }))
    .filter(({ first, count }) => Number.isInteger(first) && Number.isInteger(count))
    .toSorted((one, other) => other.count - one.count);
  return ranges[0] ?? null;
}
