/** The service that a command uses: a named service, or the command's own, which runs as long as the command. */
import { isIP } from 'node:net';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { UsageError } from '../failures/usage-error.ts';
import { clientEnvironment } from './environment.ts';
import { checkProfileName, DEFAULT_PROFILE, type Profile, readProfiles } from './profiles.ts';

/** Options of every command that calls a service. */
export interface AccessOptions {
  readonly url?: string;
  readonly key?: string;
  readonly profile?: string;
}

export interface ServiceAccess extends AsyncDisposable {
  readonly client: ServiceClient;
  /** A client for reading the outcome of accepted work. Its requests wait while the service restarts. */
  readonly patient: ServiceClient;
  readonly url: string;
}

/**
 * A client of the named service; null if none is named. The first that is given counts: `--url`, `--profile`, `SERVICE_URL`,
 * `SERVICE_PROFILE`, the profile `default`. A profile's key is sent only to that profile's address.
 *
 * @throws UsageError if the address is wrong, the profile is unknown, or there is no key for the service
 */
export function namedService(options: AccessOptions): ServiceAccess | null {
  const named = addressAndKey(options);
  if (named === null) {
    if (options.key !== undefined) throw new UsageError('--key needs --url or SERVICE_URL');
    return null;
  }
  const { url: baseUrl, key: apiKey } = named;
  checkAddress(baseUrl);
  if (apiKey === null) {
    throw new UsageError('the service needs a key; give --key or SERVICE_KEY, or keep one with `vouchbox login`');
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new UsageError('the key is empty, or has a character that no key has');
  const client = createServiceClient({ baseUrl, apiKey });
  const patient = createServiceClient({ baseUrl, apiKey, retry: { bearsLoss: true } });
  return { client, patient, url: baseUrl, [Symbol.asyncDispose]: async () => {} };
}

/** A client of the named service. @throws UsageError if none is named */
export function requireService(options: AccessOptions): ServiceAccess {
  const service = namedService(options);
  if (service === null) {
    throw new UsageError(
      'no service is named; give --url and --key, or SERVICE_URL and SERVICE_KEY, or use `vouchbox login`',
    );
  }
  return service;
}

/** @throws UsageError if the text is not the address of a service */
export function checkAddress(url: string): void {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new UsageError(`${url} is not an address; give --url http://HOST:PORT`);
  }
  const { username, password } = new URL(url);
  if (username !== '' || password !== '')
    throw new UsageError('an address must not have a user or a password; give --key');
}

/** Whether the address is a loopback address, by which every host reaches itself. */
export function isOfThisHost(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}

interface Named {
  readonly url: string;
  readonly key: string | null;
}

function addressAndKey({ url, key, profile }: AccessOptions): Named | null {
  const environment = clientEnvironment();
  if (url !== undefined) return { url, key: key ?? environment.key };
  if (profile !== undefined) return withKey(requireProfile(profile), key);
  if (environment.url !== null) return { url: environment.url, key: key ?? environment.key };
  const kept = environment.profile === null ? readProfiles().get(DEFAULT_PROFILE) : requireProfile(environment.profile);
  return kept === undefined ? null : withKey(kept, key ?? environment.key ?? undefined);
}

function withKey(profile: Profile, key: string | undefined): Named {
  return { url: profile.url, key: key ?? profile.key };
}

function requireProfile(name: string): Profile {
  const profiles = readProfiles();
  const profile = profiles.get(checkProfileName(name));
  if (profile !== undefined) return profile;
  const known = profiles.size === 0 ? 'there are none' : `there are ${[...profiles.keys()].join(', ')}`;
  throw new UsageError(`there is no profile ${name}; ${known}; \`vouchbox login\` makes one`);
}
