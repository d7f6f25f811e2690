/**
 * Makes an ordinary user's process root of a user namespace of its own, where the host allows it. From there cells are
 * made as root of the host makes them, with subordinate users in place of users that nobody has.
 */
import { missingRight } from './ordinary-user.ts';
import { ENTER_PROGRAM, ownFacts } from './own-facts.ts';

/**
 * Starts this command line again as root of a user namespace: it does not return then, and the process keeps its id. It
 * must come before anything that would be done twice. It returns, and changes nothing, for root, on other systems than
 * Linux, and where the host does not allow it: the start and `vouchbox doctor` then say what is missing.
 */
export function enterUserNamespace(): void {
  if (process.platform !== 'linux' || process.geteuid?.() === 0 || process.execve === undefined) return;
  const facts = ownFacts();
  const { users, groups } = facts;
  if (missingRight(facts) !== null || users === null || groups === null) return;
  const ranges = [users.first, groups.first, Math.min(users.count, groups.count)].map(String);
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(ENTER_PROGRAM, [ENTER_PROGRAM, ...ranges, ...command]);
}

/** Why this user's process makes no cells, in one line with what to do about it; null for root, here or of the host. */
export function whyNoCells(): { readonly missing: string; readonly fix: string } | null {
  if (process.geteuid?.() === 0) return null;
  const lacking = process.platform === 'linux' ? missingRight(ownFacts()) : null;
  if (lacking === null) return { missing: 'the rights of root', fix: 'run it as root' };
  return { missing: lacking.missing, fix: `${lacking.fix}; or run it as root` };
}
