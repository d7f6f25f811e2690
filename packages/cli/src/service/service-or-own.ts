/** The service that a command uses for as long as it runs: the one that is named, or one that it starts. */

import { note } from '../terminal/print.ts';
import { enterOwnUsers } from './own-users.ts';
import { type AccessOptions, namedService, type ServiceAccess } from './service-access.ts';

/** A service to call, with the address that other keys can be used at. */
export interface UsedService extends ServiceAccess {
  /** The key of a service that was started here; null for one that was named. */
  readonly ownKey: string | null;
}

/** Starts a service where none is named, and says so on stderr. */
export async function serviceOrOwn(options: AccessOptions, signing: 'on' | 'off'): Promise<UsedService> {
  const named = namedService(options);
  if (named !== null) {
    const { client, url } = named;
    return { client, url, ownKey: null, [Symbol.asyncDispose]: () => named[Symbol.asyncDispose]() };
  }
  await enterOwnUsers();
  note('no service is named: starting one for as long as this command runs');
  const { openEmbeddedService } = await import('./embedded-service.ts');
  const own = await openEmbeddedService({ signing });
  return { client: own.client, url: own.url, ownKey: own.key, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}
