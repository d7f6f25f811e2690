/** The service that a command uses: the one it is pointed to, or its own, which lives as long as the command. */
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { clientEnvironment } from './environment.ts';
import { UsageError } from './usage-error.ts';

/** Options of every command that calls a service. */
export interface AccessOptions {
  readonly url?: string;
  readonly key?: string;
}

export interface ServiceAccess extends AsyncDisposable {
  readonly client: ServiceClient;
}

/** A client of the service that the options or the environment name; null if they name none. */
export function namedService(options: AccessOptions): ServiceAccess | null {
  const environment = clientEnvironment();
  const baseUrl = options.url ?? environment.url;
  const apiKey = options.key ?? environment.key;
  if (baseUrl === null) {
    if (options.key !== undefined) throw new UsageError('--key is of no use without --url or SERVICE_URL');
    return null;
  }
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new UsageError(`${baseUrl} is not an address; give --url http://HOST:PORT`);
  }
  if (apiKey === null) throw new UsageError('the service asks for a key; give --key or SERVICE_KEY');
  const client = createServiceClient({ baseUrl, apiKey });
  return { client, [Symbol.asyncDispose]: async () => {} };
}

/** A client of the named service. */
export function requireService(options: AccessOptions): ServiceAccess {
  const service = namedService(options);
  if (service === null)
    throw new UsageError('no service is named; give --url and --key, or SERVICE_URL and SERVICE_KEY');
  return service;
}
