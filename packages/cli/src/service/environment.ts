/**
 * The variables that the command line reads from the environment. A service's address and key are variables for clients. All
 * other `SERVICE_*` variables are settings for a service that is started here.
 */

import { userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** The service to call for `vouchbox run` and `vouchbox jobs`, if the environment names one. */
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

/** The directory of this user's Vouchbox settings. A relative XDG_CONFIG_HOME is ignored (XDG Base Directory Specification). */
export function configDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME = '' } = environment;
  return join(isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(homeOf(environment), '.config'), 'vouchbox');
}

/** Keeps this user's home in a variable. Once the process is root of a user namespace, root's home would be found instead. */
export function keepHome(): void {
  process.env['HOME'] = homeOf(process.env);
}

/** This user's home. An empty or relative HOME is ignored: it would mean the directory in which the command was started. */
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

/** The proxy variables. Fetching packages needs no others. */
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
