/** The service that a command uses for as long as it runs: the named service, or a service that the command starts. */

import { note } from '../terminal/print.ts';
import { keepHome, serverEnvironment } from './environment.ts';
import { type AccessOptions, namedService, type ServiceAccess } from './service-access.ts';

/** A service to call. Callers with other keys can use its address as well. */
export interface UsedService extends ServiceAccess {
  /** The key of a service that was started here; null for a named service. */
  readonly ownKey: string | null;
}

/** Starts a service if none is named, and says so on stderr. */
export async function serviceOrOwn(options: AccessOptions, signing: 'on' | 'off'): Promise<UsedService> {
  const named = namedService(options);
  if (named !== null) return { ...named, ownKey: null };
  await enterOwnUsers();
  note('no service is named: starting one for as long as this command runs');
  const { openEmbeddedService } = await import('./embedded-service.ts');
  const { key: ownKey, ...own } = await openEmbeddedService({ signing });
  return { ...own, ownKey };
}

/**
 * Starts this command line again as root of a new user namespace if the command makes cells itself and an ordinary user can
 * make cells only in that way. This must happen before anything is read from stdin or printed.
 * @param named the service that the command uses; null if the command makes cells itself
 */
export async function enterOwnUsers(named: ServiceAccess | null = null): Promise<void> {
  if (named !== null || process.geteuid?.() === 0) return;
  if (serverEnvironment()['SERVICE_PROVIDER'] === 'subprocess') return;
  const { enterUserNamespace } = await import('@vouchbox/server/administration');
  keepHome();
  enterUserNamespace();
}
