/**
 * Builds a runtime pack from its recipe and puts it in its place by one rename. Building the same recipe again finds the existing
 * pack. Another recipe under the same name and version is refused, because receipts identify packs by these two.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectories } from '../../../ground/make-directories.ts';
import { PackError } from '../pack-error.ts';
import { type PackFacts, packPlaces, readFacts } from '../pack-store.ts';
import { installLocked } from './install-locked.ts';
import { bootstrapTree } from './mmdebstrap.ts';
import { plantFiles } from './plant-files.ts';
import { type Recipe, recipeSha256 } from './recipe.ts';
import { sealPack } from './seal-pack.ts';

export interface BuildOptions {
  readonly recipe: Recipe;
  /** The packs directory, made if it is missing. */
  readonly packs: string;
  /** The proxy variables of the caller, such as `http_proxy`. */
  readonly proxies: Readonly<Record<string, string>>;
  /** Called with every line that the build prints. */
  readonly onLine: (line: string) => void;
}

export interface Built {
  readonly facts: PackFacts;
  readonly directory: string;
  /** False if the pack had been built before. */
  readonly isNew: boolean;
}

/** Builds the pack unless it is already built. @throws PackError, and then leaves nothing behind */
export async function buildPack(options: BuildOptions): Promise<Built> {
  const { recipe, packs } = options;
  if (process.getuid?.() !== 0) throw new PackError('only root can build a runtime pack', { hint: 'run it as root' });
  const places = packPlaces(packs, recipe.name, recipe.version);
  if (existsSync(places.directory)) return alreadyBuilt(recipe, packs);
  makeDirectories(join(packs, recipe.name), 0o755);
  removeAbandoned(packs);
  const work = join(packs, `.build-${process.pid}-${recipe.name}-${recipe.version}`);
  mkdirSync(work, { mode: 0o711 }); // apt fetches as its own user if that user can reach this directory.
  try {
    const facts = await buildIn(work, options);
    return putInPlace(join(work, 'pack'), options, facts);
  } finally {
    rmSync(work, { recursive: true, force: true });
    if (readdirSync(join(packs, recipe.name)).length === 0) rmSync(join(packs, recipe.name), { recursive: true });
  }
}

async function buildIn(work: string, { recipe, proxies, onLine }: BuildOptions): Promise<PackFacts> {
  const built = join(work, 'built');
  const temporary = join(work, 'tmp');
  mkdirSync(temporary);
  await bootstrapTree({ recipe, tree: built, work: temporary, proxies, onLine });
  await installLocked({ recipe, tree: built, work: temporary, proxies, onLine });
  plantFiles(recipe, built);
  return sealPack(recipe, built, join(work, 'pack'));
}

/** Puts the pack in its place. If another build finished first, the pack of that build is kept. */
function putInPlace(from: string, { recipe, packs }: BuildOptions, facts: PackFacts): Built {
  const { directory } = packPlaces(packs, recipe.name, recipe.version);
  try {
    renameSync(from, directory);
  } catch (error) {
    if (!existsSync(directory)) throw error;
    return alreadyBuilt(recipe, packs);
  }
  return { facts, directory, isNew: true };
}

function alreadyBuilt(recipe: Recipe, packs: string): Built {
  const places = packPlaces(packs, recipe.name, recipe.version);
  const facts = readFacts(places);
  if (facts.recipe_sha256 === recipeSha256(recipe)) return { facts, directory: places.directory, isNew: false };
  throw new PackError(`${recipe.name} ${recipe.version} was built from another recipe`, {
    hint: `give the recipe another version, or first \`vouchbox packs remove ${recipe.name} ${recipe.version}\``,
  });
}

/** Removes what builds and removals left behind, if their processes have ended. */
function removeAbandoned(packs: string): void {
  for (const name of readdirSync(packs)) {
    const [, pid] = /^\.(?:build|removed)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    rmSync(join(packs, name), { recursive: true, force: true });
  }
}
