/** Copies a store to PostgreSQL for an operator. The modules are loaded on demand, so that other commands start sooner. */
import type { CopiedSum, CopyOptions } from '../store/copying/copy-to-postgres.ts';

export type { CopyProgress } from '../store/copying/copy-to-postgres.ts';

/** See `copyToPostgres`. @throws StoreError */
export async function copyStore(options: CopyOptions): Promise<readonly CopiedSum[]> {
  const { copyToPostgres } = await import('../store/copying/copy-to-postgres.ts');
  return await copyToPostgres(options);
}
