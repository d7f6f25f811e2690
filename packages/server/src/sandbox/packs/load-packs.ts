/** Loads the packs at the start of a service: the newest version of each pack, if its tree is intact. */
import { existsSync } from 'node:fs';
import type { RuntimePack } from '@vouchbox/protocol';
import type { Pack } from '../cell/pack.ts';
import { newestPacks, packOf, packPlaces } from './pack-store.ts';
import { verifyPack } from './verify-pack.ts';

/** A pack that cannot be offered, and why, for an operator. */
export interface PackLeftOut {
  readonly pack: string;
  readonly problem: string;
}

export interface LoadedPacks {
  readonly packs: readonly Pack[];
  readonly leftOut: readonly PackLeftOut[];
}

/** The result of offering the packs that were built since the service started. */
export interface TakenPacks {
  /** All packs that are offered now, each with the languages that passed their canaries. */
  readonly offered: readonly RuntimePack[];
  /** New packs that are not offered, or not with every language. */
  readonly leftOut: readonly PackLeftOut[];
}

/**
 * Loads every pack below `directory` except those with known names. The result is empty if `directory` is null or does not exist.
 * A faulty pack is left out and reported, so that the others can be used.
 */
export function loadPacks(directory: string | null, known: ReadonlySet<string> = new Set()): LoadedPacks {
  const packs: Pack[] = [];
  const leftOut: PackLeftOut[] = [];
  if (directory === null || !existsSync(directory)) return { packs, leftOut };
  for (const { name, version } of newestPacks(directory)) {
    if (known.has(name)) continue;
    try {
      const places = packPlaces(directory, name, version);
      packs.push(packOf(verifyPack(places, 'changed').facts, places));
    } catch (error) {
      leftOut.push({ pack: `${name} ${version}`, problem: (error as Error).message });
    }
  }
  return { packs, leftOut };
}
