/** What the preflight tries: an opened provider that is not yet proven, and the options with which all providers are opened. */
import type { Backend } from '@vouchbox/protocol';
import type { LoadedPacks, PackLeftOut } from '../packs/load-packs.ts';
import type { Provider } from '../sandbox.ts';

export type ProviderChoice = 'auto' | Backend;

export type LoopbackChoice = 'auto' | 'on' | 'off';

export interface PreflightOptions {
  readonly choice: ProviderChoice;
  /** The builder of namespace cells. Default `auto`: the launcher if it was built, else crun. */
  readonly namespaceLauncher?: 'auto' | 'fork' | 'crun';
  /** The starter of gVisor cells. Default `auto`: our own program if it was built and supports this runsc, else `runsc run`. */
  readonly gvisorStarter?: 'auto' | 'direct' | 'runsc';
  /**
   * The name of the groups and of the run directory on the host. The code that opens a provider must hold this name,
   * because it kills everything that was left under the name.
   */
  readonly instance: string;
  readonly packsDirectory: string | null;
  /** The most bytes that a job can write below `/work`. */
  readonly workBytes: number;
  /** Gives the digest of the host's posture. Called for each cell, because trials run while the host is still being examined. */
  readonly hostPostureSha256: (() => string | null) | null;
  /** Which cells have a `lo` that is up. The default, `auto`, chooses cells whose kernel is not the host's. */
  readonly loopback?: LoopbackChoice;
}

/** A provider that makes cells but is not yet proven. */
export interface Candidate extends Omit<Provider, 'languages' | 'isolation_class'> {
  /** Whether each cell has a control group, which counts its processes and limits its memory. */
  readonly hasGroups: boolean;
  /** Packs that exist but cannot be used. */
  readonly packsLeftOut: readonly PackLeftOut[];
  /** Loads the packs whose names were not there before. Cells can be made from these packs, but nothing about them is proven. */
  loadNewPacks(): LoadedPacks;
  /** Forgets a pack that `loadNewPacks` loaded and whose trial failed. */
  forgetPack(name: string): void;
  /** Known defects of the runtime in use, for the operator; null if there are none. */
  readonly runtimeDefects: string | null;
}
