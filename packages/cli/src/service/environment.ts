/**
 * The variables that the command line reads from the environment. A service's address and key are variables for clients. All
 * other `SERVICE_*` names are settings of a service that is started here.
 */

import { userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** The service that `vouchbox run` and `vouchbox jobs` call, if the environment names one. */
export interface ClientEnvironment {
  readonly url: string | null;
  readonly key: string | null;
  /** The name of a profile of `vouchbox login`. */
  readonly profile: string | null;
}

const CLIENT_NAMES: ReadonlySet<string> = new Set(['SERVICE_URL', 'SERVICE_KEY', 'SERVICE_PROFILE']);

/** `SERVICE_URL`, `SERVICE_KEY` and `SERVICE_PROFILE`; an empty value counts as not given. */
export function clientEnvironment(environment: NodeJS.ProcessEnv = process.env): ClientEnvironment {
  return {
    url: environment['SERVICE_URL'] || null,
    key: environment['SERVICE_KEY'] || null,
    profile: environment['SERVICE_PROFILE'] || null,
  };
}

/** The directory of this user's settings of Vouchbox. XDG Base Directory Specification: a relative value is ignored. */
export function configDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME = '' } = environment;
  return join(isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(homeOf(environment), '.config'), 'vouchbox');
}

/** Keeps this user's home in a variable before the process becomes root of a user namespace, where root's home would be found. */
export function keepHome(): void {
  process.env['HOME'] = homeOf(process.env);
}

/** The home of this user. An empty or relative HOME would lead to whatever directory the command is started in. */
function homeOf({ HOME = '' }: NodeJS.ProcessEnv): string {
  if (isAbsolute(HOME)) return HOME;
  try {
    return resolve('/', userInfo().homedir);
  } catch {
    // The user database does not have this user.
    return '/';
  }
}

const PROXY_NAMES: ReadonlySet<string> = new Set(['http_proxy', 'https_proxy', 'no_proxy', 'HTTPS_PROXY', 'NO_PROXY']);

/** The variables for proxies. Fetching packages needs no others. */
export function proxyEnvironment(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (PROXY_NAMES.has(name) && value ? [[name, value]] : [])),
  );
}

/** The environment for a service that is started here: without the variables for clients. */
export function serverEnvironment(environment: NodeJS.ProcessEnv = process.env): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !CLIENT_NAMES.has(name)));
}

/** The environment for a foreign command: without the keys and settings of services. */
export function foreignEnvironment(environment: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const isOurs = (name: string) => name.startsWith('SERVICE_') || name === 'ADAPTER_KEY';
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      isOurs(name) || value === undefined ? [] : [[name, value]],
    ),
  );
}

/** The value of one variable of this process; undefined if it is not set. */
export function ownVariable(name: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return environment[name];
}
