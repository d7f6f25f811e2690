/** The credentials of a running service, asked over its operator's socket. */
import type { Credentials } from './credentials.ts';
import { askService, isServed } from './socket/ask-service.ts';
import type { OperatorRequest } from './socket/messages.ts';

/** Null if no service answers in this data directory. Its methods reject with `OperatorError`. */
export async function servedCredentials(dataDir: string): Promise<Credentials | null> {
  if (!(await isServed(dataDir))) return null;
  // The service runs the same code on its store, so its answers have the types of these methods.
  const asking =
    <Ask extends keyof Credentials>(ask: Ask) =>
    async (details: Parameters<Credentials[Ask]>[0]) =>
      (await askService(dataDir, { ask, with: details } as OperatorRequest)) as never;
  return { create: asking('create'), list: asking('list'), rotate: asking('rotate'), revoke: asking('revoke') };
}
