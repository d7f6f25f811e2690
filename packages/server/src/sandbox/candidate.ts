/** What the preflight tries: a provider that was opened and is not yet proven, and what all of them are opened with. */
import type { LoadedPacks, PackLeftOut } from './packs/load-packs.ts';
import type { Provider } from './sandbox.ts';

export type ProviderChoice = 'auto' | 'gvisor' | 'namespace' | 'subprocess';

export type LoopbackChoice = 'auto' | 'on' | 'off';

export interface PreflightOptions {
  readonly choice: ProviderChoice;
  /** What builds namespace cells; `auto` by default: the launcher where it was built, else crun. */
  readonly namespaceLauncher?: 'auto' | 'fork' | 'crun';
  /** What starts gVisor cells; `auto` by default: our own program where it was built and knows this runsc, else `runsc run`. */
  readonly gvisorLauncher?: 'auto' | 'direct' | 'runsc';
  /** Names the groups and the directory on the host. The opener of a provider holds it, and kills what is left of it. */
  readonly instance: string;
  readonly packsDirectory: string | null;
  /** The most that a job can write below `/work`, in bytes. */
  readonly workBytes: number;
  /** Asked for each cell, since trials run while the host is still being examined. Null if receipts need none. */
  readonly hostPostureSha256: (() => string | null) | null;
  /** Which cells have a `lo` that is up. `auto`, which is the default: those whose kernel is not the host's. */
  readonly loopback?: LoopbackChoice;
}

/** What can be tried: something that makes cells, not yet proven. */
export interface Candidate extends Omit<Provider, 'languages' | 'isolation_class'> {
  /** Packs that are there and cannot be used. */
  readonly packsLeftOut: readonly PackLeftOut[];
  /** Loads the packs whose names were not there before. Cells can be made of them; nothing is proven. */
  loadNewPacks(): LoadedPacks;
  /** Forgets a pack that was loaded since and did not prove itself. */
  forgetPack(name: string): void;
  /** What is known to fail in the runtime that is in use, for an operator; null if nothing is. */
  readonly runtimeDefects: string | null;
}
