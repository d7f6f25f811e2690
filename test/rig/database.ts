/** Where the services of a test file have their stores: in their data directories, or on the run's server. */
import { newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';

let server: string | null = null;
const schemas = new Map<string, Promise<string>>();

/** Gives each service in the following tests its own schema on this server: `postgres://…`. */
export function useDatabaseServer(url: string): void {
  server = url;
}

/** The database URL for the service with this data directory, the same at each start; null if the store is a file. */
export async function databaseOf(dataDir: string): Promise<string | null> {
  if (server === null) return null;
  const schema = schemas.get(dataDir) ?? newSchema(server);
  schemas.set(dataDir, schema);
  return await schema;
}
