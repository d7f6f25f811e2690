/** Proves runtime packs: each language of each pack runs its canary in a real cell. */
import type { RuntimePack } from '@vouchbox/protocol';
import type { PackLeftOut } from '../packs/load-packs.ts';
import type { Provider } from '../sandbox.ts';
import { type CanaryResult, runCanary } from './canary.ts';

export interface ProvenPacks {
  /** The packs with at least one language that passed, each with those languages. */
  readonly packs: readonly RuntimePack[];
  /** What is left out: a whole pack, or one of its languages. */
  readonly leftOut: readonly PackLeftOut[];
}

/**
 * Runs every canary of the packs, one pack after the other. Never rejects. A pack takes at most 21 seconds on an ordinary host,
 * or 61 if it compiles.
 */
export async function provePacks(
  packs: readonly RuntimePack[],
  { prepare }: Pick<Provider, 'prepare'>,
): Promise<ProvenPacks> {
  const proven: RuntimePack[] = [];
  const leftOut: PackLeftOut[] = [];
  for (const pack of packs) {
    const results = await Promise.all(
      pack.languages.map((language) =>
        runCanary(language, (readyMilliseconds) => prepare({ language, runtime: pack.name, readyMilliseconds })),
      ),
    );
    const failed = results.filter((result) => 'problem' in result);
    leftOut.push(...failed.map((result) => describe(pack, result)));
    const languages = pack.languages.filter((language) => failed.every((result) => result.language !== language));
    if (languages.length > 0) proven.push({ ...pack, languages });
  }
  return { packs: proven, leftOut };
}

function describe(pack: RuntimePack, result: Extract<CanaryResult, { problem: string }>): PackLeftOut {
  return { pack: `${pack.name} ${pack.version}`, problem: `${result.language}: ${result.problem}` };
}
