/** The directory of runtime packs. */
import { join } from 'node:path';

/** The directory that the settings name, or the one in the data directory. */
export function packsDirectoryOf(settings: {
  readonly dataDir: string;
  readonly runtimePacksDir: string | null;
}): string {
  return settings.runtimePacksDir ?? join(settings.dataDir, 'packs');
}
