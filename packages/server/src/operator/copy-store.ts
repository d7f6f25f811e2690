/** An operator's copy of a store to PostgreSQL. What it needs is loaded when it is asked for: other commands start sooner. */
import type { CopiedSum, CopyOptions } from '../store/copying/copy-to-postgres.ts';

export type { CopyProgress } from '../store/copying/copy-to-postgres.ts';

/** See `copyToPostgres`. @throws StoreError */
export async function copyStore(options: CopyOptions): Promise<readonly CopiedSum[]> {
  const { copyToPostgres } = await import('../store/copying/copy-to-postgres.ts');
  return await copyToPostgres(options);
}
