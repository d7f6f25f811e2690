/**
 * `vouchbox login`, `logout` and `profiles`: keep the addresses and keys of services for the commands that call a service. A key
 * is checked with its service before it is kept, and is never printed.
 */
import { createServiceClient } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { UsageError } from './failures/usage-error.ts';
import { clientEnvironment } from './service/environment.ts';
import { checkProfileName, DEFAULT_PROFILE, profilesFile, readProfiles, writeProfiles } from './service/profiles.ts';
import { checkAddress, isOfThisHost } from './service/service-access.ts';
import { type JsonOption, note, printResult, tableOf } from './terminal/print.ts';
import { askSecretly, isPiped } from './terminal/standard-input.ts';

export interface LoginOptions extends JsonOption {
  readonly url?: string;
  readonly key?: string;
  readonly profile?: string;
}

export interface LogoutOptions extends JsonOption {
  readonly profile?: string;
  readonly all?: true;
}

/** Asks the service who owns the key, keeps the address and the key, and reports the owner. */
export async function login(options: LoginOptions): Promise<void> {
  const environment = clientEnvironment();
  const name = profileName(options);
  const url = options.url ?? environment.url;
  if (url === null) throw new UsageError('say which service with --url http://HOST:PORT');
  checkAddress(url);
  if (isReadableOnTheWay(url)) note(`${url} is not encrypted: anyone on the network path can read the key`);
  const key = options.key ?? (await pipedOrKept(environment.key, url));
  if (key === '') throw new UsageError('the key is empty; give --key, write it to stdin, or set SERVICE_KEY');
  const { tenant, principal, scopes } = await createServiceClient({ baseUrl: url, apiKey: key }).whoami();
  writeProfiles(new Map([...readProfiles(), [name, { url, key }]]));
  const view = { profile: name, url, tenant, principal, scopes };
  const text = `profile ${name}: ${url}, as ${principal} of tenant ${tenant}, for ${scopes.join(' ')}`;
  printResult(options, `${printable(text)}\n`, view);
}

/** A piped key takes precedence over SERVICE_KEY: a key is piped on purpose, and SERVICE_KEY may be for another service. */
async function pipedOrKept(kept: string | null, url: string): Promise<string> {
  if (kept !== null && !isPiped()) return kept;
  return (await askSecretly(`key for ${printable(url)}: `)) || (kept ?? '');
}

/** Forgets one profile or all. The service is not notified. */
export async function logout(options: LogoutOptions): Promise<void> {
  const profiles = new Map(readProfiles());
  const names = options.all ? [...profiles.keys()] : [profileName(options)];
  const gone = names.filter((name) => profiles.delete(name));
  if (gone.length === 0 && !options.all) throw new UsageError(`there is no profile ${names.join()}`);
  if (gone.length > 0) writeProfiles(profiles);
  printResult(options, `removed: ${gone.join(', ') || 'nothing'}\n`, { removed: gone });
}

/** Prints every profile, and marks the one that is used if no option names another. */
export async function listProfiles(options: JsonOption): Promise<void> {
  const used = clientEnvironment().profile ?? DEFAULT_PROFILE;
  const views = [...readProfiles()].map(([profile, { url }]) => ({ profile, url, used: profile === used }));
  const rows = views.map(({ profile, url, used }) => [profile, used ? '*' : '', url]);
  printResult(options, tableOf([['profile', 'used', 'url'], ...rows]), views);
  if (!options.json && views.length === 0) note(`${profilesFile()} has no profile; \`vouchbox login\` makes one`);
}

function profileName({ profile }: LogoutOptions): string {
  return checkProfileName(profile ?? clientEnvironment().profile ?? DEFAULT_PROFILE);
}

/** Whether the key would be sent from this host unencrypted. */
function isReadableOnTheWay(url: string): boolean {
  return new URL(url).protocol === 'http:' && !isOfThisHost(url);
}
