/**
 * The pack of the shipped recipe `python-data`, built for real. A build takes a minute or two, so the pack stays below
 * `/var/tmp` under the digest of everything it is made from, and is built again when any of that changes.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPack } from './build-pack.ts';
import { type PackFacts, packPlaces } from './pack-store.ts';
import { readRecipe } from './recipe.ts';
import { verifyPack } from './verify-pack.ts';

const RECIPE = join(import.meta.dirname, '../../../../../packs/python-data.json');
const MADE_BY = ['apt-sources.ts', 'manifest.ts', 'mmdebstrap.ts', 'seal-pack.ts', 'trim-tree.ts', '../oci/rootfs.ts'];

export const BUILD_MILLISECONDS_MAX = 15 * 60 * 1000;

/** The packs directory that holds it, and what it is. */
export async function pythonDataPack(): Promise<{ packs: string; facts: PackFacts }> {
  const packs = join('/var/tmp', `svc-test-packs-${inputsSha256().slice(0, 16)}`);
  const recipe = readRecipe(RECIPE);
  if (existsSync(packPlaces(packs, recipe.name, recipe.version).directory)) {
    return { packs, facts: verifyPack(packPlaces(packs, recipe.name, recipe.version), 'changed').facts };
  }
  const { facts } = await buildPack({ recipe, packs, proxies: {}, onLine: () => {} });
  return { packs, facts };
}

function inputsSha256(): string {
  const hash = createHash('sha256');
  for (const file of [RECIPE, ...MADE_BY.map((name) => join(import.meta.dirname, name))])
    hash.update(readFileSync(file));
  return hash.digest('hex');
}
