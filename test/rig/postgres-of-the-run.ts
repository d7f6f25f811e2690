/** Starts the PostgreSQL server for a run of tests before the first file that needs it, and stops it after the last such file. */
import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  return async () => await server[Symbol.asyncDispose]();
}
