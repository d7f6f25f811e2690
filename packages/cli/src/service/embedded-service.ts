/**
 * A service that this command starts for itself, on a free port of this host and with its own key. Its store is in a temporary
 * directory, which is removed at the end. The service isolates programs as `vouchbox serve` does, and reads the same settings
 * from the environment.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServiceClient } from '@vouchbox/client';
import { buildStaleNatives, loadConfig } from '@vouchbox/server/administration';
import { startService } from '@vouchbox/server/service';
import { temporaryDirectory } from '../files/temporary-directory.ts';
import { serverEnvironment } from './environment.ts';
import type { ServiceAccess } from './service-access.ts';

export interface EmbeddedService extends ServiceAccess {
  readonly key: string;
}

export interface EmbeddedServiceOptions {
  /** Whether results are signed. The signing key is removed with the store, so the public key must be kept elsewhere. */
  readonly signing: 'on' | 'off';
}

/** Starts the service. Disposing of the service stops it and removes what it stored. @throws StartError */
export async function openEmbeddedService(
  { signing }: EmbeddedServiceOptions = { signing: 'off' },
): Promise<EmbeddedService> {
  await using undo = new AsyncDisposableStack();
  const dataDir = temporaryDirectory('svc-');
  undo.defer(() => rm(dataDir, { recursive: true, force: true }));
  const key = randomBytes(32).toString('base64url');
  const config = loadConfig(environmentFor(), flagsFor({ dataDir, key, signing }));
  if (config.provider !== 'subprocess') await buildStaleNatives();
  const service = undo.use(await startService(config, { isEmbedded: true }));
  const client = createServiceClient({ baseUrl: service.url, apiKey: key });
  const owned = undo.move();
  return { client, patient: client, url: service.url, key, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The environment without the settings for a store and for roles, which are meant for `vouchbox serve`. */
function environmentFor(): Record<string, string | undefined> {
  return {
    ...serverEnvironment(),
    SERVICE_DATABASE_URL: undefined,
    SERVICE_LEGACY_KEYS: undefined,
    SERVICE_ROLES: undefined,
  };
}

function flagsFor({ dataDir, key, signing }: EmbeddedServiceOptions & { dataDir: string; key: string }) {
  return {
    host: '127.0.0.1',
    port: '0',
    'data-dir': dataDir,
    'legacy-keys': `local=${key}`,
    // These limits protect callers from each other, but here the command is the only caller.
    'rate-per-second': '1000000',
    'rate-burst': '1000000',
    'tenant-queue-max': '256',
    // The signing key is removed with the service. Signatures could not be checked later, so they are made only on request.
    'attestation-mode': signing,
    // The service would usually end before its first canary ends.
    canaries: serverEnvironment()['SERVICE_CANARIES'] || 'off',
    'log-level': serverEnvironment()['SERVICE_LOG_LEVEL'] || 'error',
  };
}
