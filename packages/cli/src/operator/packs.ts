/** `vouchbox packs`: builds runtime packs from recipes, and lists, verifies and removes the packs that were built. */
import { existsSync, globSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printable } from '@vouchbox/protocol/vocabulary';
import {
  buildPack,
  type ListedPack,
  listPacks,
  packsDirectoryOf,
  readRecipe,
  removePack,
  requirePack,
  verifyPack,
} from '@vouchbox/server';
import { UsageError } from '../failures/usage-error.ts';
import { proxyEnvironment, serverEnvironment } from '../service/environment.ts';
import { type JsonOption, printResult, tableOf } from '../terminal/print.ts';
import { administeredService, type DataOptions } from './administered-service.ts';
import { offerPack } from './offer-pack.ts';

/** Where to find the recipes that come with the service: in an installed package, or at the root of a checkout. */
const RECIPES = ['../../packs/', '../../../../packs/']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync) as string;

/** Options of every `vouchbox packs` command: the settings that say where packs are, named like their flags. */
export interface PacksOptions extends DataOptions, JsonOption {}

/**
 * Builds a pack and reports progress on stderr.
 * @param recipe the name of a recipe that comes with the service, or the path of another recipe
 */
export async function buildPackOf(recipe: string, options: PacksOptions): Promise<void> {
  const read = readRecipe(recipeFile(recipe));
  const packs = await packsIn(options);
  const { facts, directory, isNew } = await buildPack({
    recipe: read,
    packs,
    proxies: proxyEnvironment(),
    onLine: (line) => process.stderr.write(`${printable(line, 4096)}\n`),
  });
  // This verification records the pack's files, so that a service that offers the pack need not read them again.
  verifyPack(requirePack(packs, facts.name, facts.version), 'changed');
  const what = `${facts.name} ${facts.version} (${facts.languages.join(', ')}), ${mebibytes(facts.size_bytes)}`;
  const text = `${isNew ? 'built' : 'was built before:'} ${what}\n${directory}\nsha256 ${facts.digest}\n`;
  const services = await offerPack(packs, facts);
  printResult(options, text, { is_new: isNew, directory, services, ...facts });
}

/** Prints every pack, including unusable ones. */
export async function listPacksOf(options: PacksOptions): Promise<void> {
  const packs = listPacks(await packsIn(options));
  printResult(options, tableOf([COLUMNS, ...packs.map(rowOf)]), packs);
}

/** Compares every file of a pack with the manifest. Without a version, the newest one is verified. */
export async function verifyPackOf(name: string, version: string | undefined, options: PacksOptions): Promise<void> {
  const { facts, entries } = verifyPack(requirePack(await packsIn(options), name, version ?? null), 'every');
  const text = `${facts.name} ${facts.version} is as it was built: ${entries} entries, sha256 ${facts.digest}\n`;
  printResult(options, text, { ...facts, entries });
}

/** Removes one version of a pack. Without a version, the newest one is removed. */
export async function removePackOf(name: string, version: string | undefined, options: PacksOptions): Promise<void> {
  const { directory } = removePack(await packsIn(options), name, version ?? null);
  printResult(options, `removed ${directory}\n`, { removed: directory });
}

/** The directory of packs: the one named by its own setting, else the one in the data directory. */
async function packsIn(options: PacksOptions): Promise<string> {
  const named = options.runtimePacksDir ?? serverEnvironment()['SERVICE_RUNTIME_PACKS_DIR'];
  return named ? resolve(named) : packsDirectoryOf(await administeredService(options));
}

function recipeFile(recipe: string): string {
  if (recipe.includes('/') || recipe.endsWith('.json')) return resolve(recipe);
  const file = join(RECIPES, `${recipe}.json`);
  if (existsSync(file)) return file;
  const names = globSync('*.json', { cwd: RECIPES }).map((name) => basename(name, '.json'));
  throw new UsageError(
    `there is no recipe ${recipe}; there are ${names.join(', ')}, or give the path of a recipe file`,
  );
}

const COLUMNS = ['name', 'version', 'languages', 'size', 'built_at', 'digest'];

function rowOf({ name, version, facts, problem }: ListedPack): readonly string[] {
  if (facts === null) return [name, version, `unusable: ${problem}`];
  return [name, version, facts.languages.join(','), mebibytes(facts.size_bytes), facts.built_at, facts.digest];
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
