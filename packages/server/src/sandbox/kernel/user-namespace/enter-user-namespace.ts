/**
 * Makes an ordinary user's process root of a user namespace of its own, where the host allows it. From there the process makes
 * cells as root of the host does, but with subordinate users or, if there are none, with only this user.
 */
import { readCgroupLayout } from '../cgroup/layout.ts';
import { enterProgram } from './apparmor.ts';
import { type MissingRight, missingRights, missingUsers } from './ordinary-user.ts';
import { ownFacts, refusalOfRoot } from './own-facts.ts';
import { scopeWords } from './own-scope.ts';

/** The words for a namespace in which no further users are mapped. */
const ALONE = ['0', '0', '0'];

/**
 * Starts this command line again as root of a user namespace, in a control group of its own if systemd gives one. The
 * function then does not return, and the process keeps its id. Call it before anything that must not be done twice. It
 * returns and changes nothing for root, on other systems than Linux, and where the host does not allow this: the start
 * and `vouchbox doctor` then say what is missing.
 */
export function enterUserNamespace(): void {
  if (process.platform !== 'linux' || process.geteuid?.() === 0 || process.execve === undefined) return;
  const facts = ownFacts();
  const { users, groups } = facts;
  if (missingRights(facts).length > 0) return;
  const hasOthers = missingUsers(facts).length === 0 && users !== null && groups !== null;
  const ranges = hasOthers ? [users.first, groups.first, Math.min(users.count, groups.count)].map(String) : ALONE;
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  // The kernel limits the memory of cells only if this command has a group. The command starts again in such a group.
  const scope = scopeWords();
  if (scope !== null) process.execve(scope[0] as string, [...scope, ...command]);
  const program = enterProgram();
  process.execve(program, [program, ...ranges, ...command]);
}

/** What an ordinary user lacks for cells as strong as root's. Empty for root. */
export function missingOfUser(): readonly MissingRight[] {
  if (process.platform !== 'linux' || process.geteuid?.() === 0) return [];
  const facts = ownFacts();
  return [...missingRights(facts), ...missingUsers(facts), ...missingGroup()];
}

/** What is missing to limit the memory of cells: a control group, unless this process has one or systemd gives one. */
function missingGroup(): readonly MissingRight[] {
  if (readCgroupLayout().usable !== null || scopeWords() !== null) return [];
  const fix = 'start it in a unit with Delegate=yes, as deploy/vouchbox-user.service is';
  return [{ missing: 'a control group of its own, to limit memory', fix }];
}

/** Everything that this process lacks to make cells, each with its remedy; null if nothing. */
export function whyNoCells(): MissingRight | null {
  const why = whyNeverCells();
  return why !== null || process.geteuid?.() === 0 ? why : { missing: 'the rights of root', fix: 'run it as root' };
}

/** Like `whyNoCells`, for a process that enters a user namespace if it can. Root needs user namespaces, too. */
export function whyNeverCells(): MissingRight | null {
  if (process.geteuid?.() === 0) {
    const refusal = refusalOfRoot();
    return refusal === null ? null : { missing: 'user namespaces', fix: `sysctl -w ${refusal}` };
  }
  if (process.platform !== 'linux') {
    return { missing: 'a Linux kernel', fix: 'vouchbox vm prints a machine for Lima; on Windows use WSL2' };
  }
  const lacking = missingRights(ownFacts());
  if (lacking.length === 0) return null;
  const all = (member: 'missing' | 'fix') => [...new Set(lacking.map((right) => right[member]))].join(', and ');
  return { missing: all('missing'), fix: `${all('fix')}; or run it as root` };
}
