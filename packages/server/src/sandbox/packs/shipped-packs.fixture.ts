/**
 * Packs built for real from shipped recipes. A build takes a minute or two, so the packs stay below `/var/tmp` under the digest
 * of everything they are made from, and are built again when any of that changes.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPack } from './build/build-pack.ts';
import { type Recipe, readRecipe } from './build/recipe.ts';
import { type PackFacts, packPlaces } from './pack-store.ts';
import { verifyPack } from './verify-pack.ts';

const RECIPES = join(import.meta.dirname, '../../../../../packs');
const MADE_BY = [
  'build/apt-sources.ts',
  'build/libraries.ts',
  'manifest.ts',
  'build/mmdebstrap.ts',
  'build/plant-files.ts',
  'build/seal-pack.ts',
  'build/trim-tree.ts',
  '../program/language-runs.ts',
  '../cell/rootfs.ts',
];

export const BUILD_MILLISECONDS_MAX = 15 * 60 * 1000;

/** A packs directory with exactly these packs, and the facts of each. */
export async function shippedPacks(names: readonly string[]): Promise<{ packs: string; facts: readonly PackFacts[] }> {
  return await packsOf(recipesOf(names));
}

/** Builds packs that are not shipped. */
export async function packsOf(recipes: readonly Recipe[]): Promise<{ packs: string; facts: readonly PackFacts[] }> {
  const packs = directoryOf(recipes);
  const facts: PackFacts[] = [];
  for (const recipe of recipes) {
    await buildPack({ recipe, packs, proxies: {}, onLine: () => {} });
    facts.push(verifyPack(packPlaces(packs, recipe.name, recipe.version), 'changed').facts);
  }
  return { packs, facts };
}

/** The directory of shipped packs if all of them are built; null if one is not. */
export function builtPacks(names: readonly string[]): string | null {
  const recipes = recipesOf(names);
  const packs = directoryOf(recipes);
  const isBuilt = recipes.every(({ name, version }) => existsSync(packPlaces(packs, name, version).manifest));
  return isBuilt ? packs : null;
}

function recipesOf(names: readonly string[]): readonly Recipe[] {
  return names.map((name) => readRecipe(join(RECIPES, `${name}.json`)));
}

function directoryOf(recipes: readonly Recipe[]): string {
  return join('/var/tmp', `svc-test-packs-${digestOf(recipes).slice(0, 16)}`);
}

function digestOf(recipes: readonly Recipe[]): string {
  const hash = createHash('sha256').update(JSON.stringify(recipes));
  for (const name of MADE_BY) hash.update(readFileSync(join(import.meta.dirname, name)));
  return hash.digest('hex');
}
