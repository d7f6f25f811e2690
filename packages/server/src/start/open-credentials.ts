/**
 * Opens the credentials in a data directory for an operator's command. They come from the service that runs there or, if no
 * service runs, from the store itself.
 */
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Credentials, createCredentials } from '../operator/credentials.ts';
import { OperatorError } from '../operator/operator-error.ts';
import { requireData, requireStore } from '../operator/require-store.ts';
import { servedCredentials } from '../operator/served.ts';
import { checkDataDirectory } from '../settings/data-directory.ts';
import { type OpenStoreOptions, openStore } from '../store/open-store.ts';
import { StoreError } from '../store/store-error.ts';

/** How often opening is tried. A service that starts or stops holds the store for a moment without having a socket. */
const triesMax = 50;
const pauseMilliseconds = 100;

export type OpenCredentials = Credentials & AsyncDisposable;

/**
 * Opens the credentials. No store is made, because no service would accept keys from a new store.
 *
 * @throws OperatorError, with one clear line, if neither a service nor the store can be reached
 * @throws StartError if the data directory cannot be used
 */
export async function openCredentials(options: Omit<OpenStoreOptions, 'onProblem'>): Promise<OpenCredentials> {
  const { dataDir } = options;
  if (!existsSync(dataDir)) requireData(dataDir);
  await checkDataDirectory(dataDir);
  for (let tries = 1; ; tries++) {
    const served = await servedCredentials(dataDir);
    if (served !== null) return { ...served, [Symbol.asyncDispose]: async () => {} };
    requireStore(options);
    try {
      const store = await openStore(options);
      return { ...createCredentials(store), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.code !== 'locked' || tries >= triesMax) throw new OperatorError(error.message, { cause: error });
    }
    await pause(pauseMilliseconds);
  }
}
