/** The roles of this node, from `SERVICE_ROLES`. */
import { NODE_ROLES, type NodeRole, printable } from '@vouchbox/protocol/vocabulary';
import { StartError } from '../ground/start-error.ts';

/** How many characters of a wrong word a message repeats. */
const shownCharactersMax = 80;
const HINT = { hint: `give one or more of ${NODE_ROLES.join(', ')}, separated by commas` };

/**
 * The roles in a list with commas, in the order of `NODE_ROLES`.
 *
 * @throws StartError if the list names no role, or something that is not a role
 */
export function parseRoles(text: string): readonly NodeRole[] {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);
  if (words.length === 0) throw new StartError('SERVICE_ROLES names no role', HINT);
  for (const word of words) {
    if (NODE_ROLES.some((role) => role === word)) continue;
    throw new StartError(`SERVICE_ROLES: ${printable(word, shownCharactersMax)} is not a role`, HINT);
  }
  return NODE_ROLES.filter((role) => words.includes(role));
}

/**
 * Refuses if roles are left out. Only one process uses a store in a file, so no other process could do a missing role's tasks.
 *
 * @throws StartError if roles are missing
 */
export function refusePartialRoles(roles: readonly NodeRole[]): void {
  if (roles.length === NODE_ROLES.length) return;
  throw new StartError(
    `SERVICE_ROLES is ${roles.join(',')}, and a store in a file has one node, which needs all roles`,
    {
      hint: 'set SERVICE_DATABASE_URL to a PostgreSQL database, or leave SERVICE_ROLES out',
    },
  );
}
