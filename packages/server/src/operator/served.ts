/** Asks a running service about its credentials, packs and log over its operator's socket. */

import type { ReopenedLog } from '../job/log/log-keeper.ts';
import type { TakenPacks } from '../sandbox/packs/load-packs.ts';
import type { Credentials } from './credentials.ts';
import { askService, isServed } from './socket/ask-service.ts';
import type { OperatorRequest } from './socket/messages.ts';

/** A running service's credentials; null if no service answers in this data directory. Methods reject with `OperatorError`. */
export async function servedCredentials(dataDir: string): Promise<Credentials | null> {
  if (!(await isServed(dataDir))) return null;
  // The service runs the same code on its store, so its answers have these methods' types.
  const asking =
    <Ask extends keyof Credentials>(ask: Ask) =>
    async (details: Parameters<Credentials[Ask]>[0]) =>
      (await askService(dataDir, { ask, with: details } as OperatorRequest)) as never;
  return { create: asking('create'), list: asking('list'), rotate: asking('rotate'), revoke: asking('revoke') };
}

/**
 * Makes the service in this data directory look at its packs again, prove the new packs, and offer them.
 * @throws OperatorError if no service answers, or if the service cannot offer the packs
 */
export async function offerNewPacks(dataDir: string): Promise<TakenPacks> {
  return (await askService(dataDir, { ask: 'takePacks', with: {} })) as TakenPacks;
}

/**
 * Makes the service in this data directory open the next tree of its log.
 * @throws OperatorError if no service answers, or if the service cannot open the next tree
 */
export async function reopenLog(dataDir: string): Promise<ReopenedLog> {
  return (await askService(dataDir, { ask: 'reopenLog', with: {} })) as ReopenedLog;
}
