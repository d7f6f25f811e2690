/** Makes a pack from the result of `mmdebstrap`: its tree, the manifest of that tree, and the facts of the pack. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../../ground/durably.ts';
import { manifestDigest, manifestText, readTree } from '../manifest.ts';
import { PACK_FORMAT, type PackFacts, placesIn } from '../pack-store.ts';
import { librariesIn } from './libraries.ts';
import { type Recipe, recipeSha256 } from './recipe.ts';
import { trimTree } from './trim-tree.ts';

/**
 * Fills `directory`, which must not exist, with files moved from `built`. @throws PackError on an entry that no pack may have
 */
export function sealPack(recipe: Recipe, built: string, directory: string): PackFacts {
  const places = placesIn(directory);
  const packages = installedPackages(readFileSync(join(built, 'var/lib/dpkg/status'), 'utf8'));
  mkdirSync(places.tree, { recursive: true, mode: 0o755 });
  trimTree(built, places.tree, recipe);
  const entries = readTree(places.tree);
  const manifest = manifestText(entries);
  const facts: PackFacts = {
    format: PACK_FORMAT,
    name: recipe.name,
    version: recipe.version,
    description: recipe.description ?? '',
    languages: recipe.languages,
    digest: manifestDigest(manifest),
    recipe_sha256: recipeSha256(recipe),
    suite: recipe.suite,
    built_at: new Date().toISOString(),
    packages,
    entries: entries.length,
    libraries: librariesIn(places.tree),
    size_bytes: entries.reduce((sum, entry) => sum + (entry.type === 'file' ? entry.size : 0), 0),
  };
  writeDurably(places.manifest, manifest, 0o644);
  writeDurably(places.facts, `${JSON.stringify(facts, null, 2)}\n`, 0o644);
  return facts;
}

/** Packages and versions in a dpkg status file. */
function installedPackages(status: string): string[] {
  return status
    .split(/\n\n+/)
    .filter((paragraph) => /^Status: .* installed$/m.test(paragraph))
    .map((paragraph) => `${field(paragraph, 'Package')}=${field(paragraph, 'Version')}`)
    .toSorted();
}

function field(paragraph: string, name: string): string {
  return new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1] ?? '';
}
