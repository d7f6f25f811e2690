/** A command that makes cells itself, started by an ordinary user, goes on as root of a user namespace of its own. */
import { serverEnvironment } from './environment.ts';
import type { ServiceAccess } from './service-access.ts';

/**
 * Starts this command line again with the rights to make cells, where this user lacks them and the host allows it. It must
 * come before anything is read from stdin or printed.
 * @param named the service that the command uses; null if it makes cells itself
 */
export async function enterOwnUsers(named: ServiceAccess | null = null): Promise<void> {
  if (named !== null || process.geteuid?.() === 0) return;
  if (serverEnvironment()['SERVICE_PROVIDER'] === 'subprocess') return;
  const { enterUserNamespace } = await import('@vouchbox/server/administration');
  enterUserNamespace();
}
