/** Starts the matrix's services by name, each with the database or object store that it needs. */
import { newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { startObjectServer } from '../rig/object-server.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import type { ServiceName } from './place.ts';
import { Service, type Settings } from './service.ts';

export interface StartedService extends AsyncDisposable {
  readonly service: Service;
}

type Start = (tenants: readonly string[], settings: Settings) => Promise<StartedService>;

/** A service without a database server and without an object store. */
const alone =
  (kind: Settings): Start =>
  async (tenants, settings) => {
    const service = await Service.start(tenants, { ...kind, ...settings });
    return { service, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
  };

/** Two nodes that share one store on PostgreSQL. */
const twoNodes: Start = async (tenants, settings) => {
  await using undo = new AsyncDisposableStack();
  const server = undo.use(await startPostgres());
  const place = { provider: 'namespace', 'database-url': await newSchema(server.url) };
  const service = undo.use(await Service.start(tenants, { ...place, ...settings }, { nodes: 2 }));
  const owned = undo.move();
  return { service, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};

/** Contents of at least 64 KiB go to the object store. No smaller bound can be set. */
const withObjects: Start = async (tenants, settings) => {
  await using undo = new AsyncDisposableStack();
  const server = undo.use(await startObjectServer());
  const { url, accessKey, secretKey } = await server.newBucket();
  const place = {
    provider: 'namespace',
    'object-store-url': `${url}/jobs`,
    'object-store-access-key': accessKey,
    'object-store-secret-key': secretKey,
    'object-store-min-kb': '64',
  };
  const service = undo.use(await Service.start(tenants, { ...place, ...settings }));
  const owned = undo.move();
  return { service, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};

export const SERVICES: Readonly<Record<ServiceName, Start>> = {
  usual: alone({ provider: 'namespace', 'namespace-launcher': 'fork' }),
  crun: alone({ provider: 'namespace', 'namespace-launcher': 'crun' }),
  gvisor: alone({ provider: 'gvisor' }),
  nodes: twoNodes,
  objects: withObjects,
};
