/** Has running services offer packs that were built since they started. */
import type { TakenPacks } from '../sandbox/packs/taken-packs.ts';
import { askService } from './socket/ask-service.ts';

/**
 * The service of this data directory looks at its packs again, proves those that are new, and offers them.
 * @throws OperatorError if none answers, or it cannot be done
 */
export async function offerNewPacks(dataDir: string): Promise<TakenPacks> {
  return (await askService(dataDir, { ask: 'takePacks', with: {} })) as TakenPacks;
}
