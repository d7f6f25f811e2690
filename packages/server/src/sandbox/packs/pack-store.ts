/**
 * Runtime packs on disk: `NAME/VERSION/` below the packs directory, each with its tree, its manifest and its facts. One
 * rename puts a whole pack there, and from then on it is only read.
 *
 *   NAME/VERSION/pack.json        what the pack is, `PackFacts`
 *   NAME/VERSION/manifest.jsonl   every entry of the tree; its SHA-256 is the pack's digest
 *   NAME/VERSION/checked.json     the change time up to which the tree is known to match the manifest
 *   NAME/VERSION/tree/{usr,etc}   what a cell sees as its /usr and /etc
 */
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fits, LANGUAGES, RuntimePack, type Static, Type } from '@vouchbox/protocol';
import { GUEST } from '../cell/description.ts';
import { PACK_NAME, PACK_VERSION, type Pack, packView } from '../cell/pack.ts';
import { PackError } from './pack-error.ts';

export const PACK_FORMAT = 'svc.pack.v1';

export const PackFacts = Type.Object({
  format: Type.Literal(PACK_FORMAT),
  name: Type.String({ pattern: PACK_NAME.source }),
  version: Type.String({ pattern: PACK_VERSION.source }),
  description: Type.String(),
  languages: Type.Array(Type.Enum([...LANGUAGES])),
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  recipe_sha256: Type.String(),
  suite: Type.String(),
  built_at: Type.String(),
  /** Every Debian package in the pack, as `name=version`. */
  packages: Type.Array(Type.String()),
  entries: Type.Integer(),
  size_bytes: Type.Integer(),
  /** The libraries of the pack. Absent if an earlier version of the service built the pack. */
  libraries: RuntimePack.properties.libraries,
});
export type PackFacts = Static<typeof PackFacts>;

/** A pack's directory and its parts. */
export interface PackPlaces {
  readonly directory: string;
  readonly facts: string;
  readonly manifest: string;
  readonly checked: string;
  readonly tree: string;
}

/** Where a pack of this name and version is, or would be. */
export function packPlaces(packs: string, name: string, version: string): PackPlaces {
  if (!PACK_NAME.test(name)) throw new PackError(`${JSON.stringify(name)} is not a name of a pack`);
  if (!PACK_VERSION.test(version)) throw new PackError(`${JSON.stringify(version)} is not a version of a pack`);
  return placesIn(join(packs, name, version));
}

export function placesIn(directory: string): PackPlaces {
  return {
    directory,
    facts: join(directory, 'pack.json'),
    manifest: join(directory, 'manifest.jsonl'),
    checked: join(directory, 'checked.json'),
    tree: join(directory, 'tree'),
  };
}

/** One name and version below the packs directory, whether or not it can be read. */
export interface Listed {
  readonly name: string;
  readonly version: string;
  readonly facts: PackFacts | null;
  /** Why the pack cannot be used, if `facts` is null. */
  readonly problem: string | null;
}

/** Every pack, sorted by name and then by version, oldest first. The result is empty if the directory does not exist. */
export function listPacks(packs: string): Listed[] {
  return directoriesIn(packs, PACK_NAME).flatMap((name) =>
    directoriesIn(join(packs, name), PACK_VERSION)
      .toSorted(byVersion)
      .map((version) => list(packs, name, version)),
  );
}

/** The newest version of every name: what a service offers. */
export function newestPacks(packs: string): Listed[] {
  return [...new Map(listPacks(packs).map((listed) => [listed.name, listed])).values()];
}

/** The given version of a pack, or the newest. @throws PackError if there is none */
export function requirePack(packs: string, name: string, version: string | null): PackPlaces {
  const listed = listPacks(packs).filter((pack) => pack.name === name && (version ?? pack.version) === pack.version);
  const last = listed.at(-1);
  if (last !== undefined) return packPlaces(packs, name, last.version);
  const wanted = version === null ? name : `${name} ${version}`;
  throw new PackError(`there is no runtime pack ${wanted} in ${packs}`, {
    hint: '`vouchbox packs list` shows all packs',
  });
}

/**
 * The facts of a pack, read after a check of its layout: every directory on the way to `usr` and `etc` is a real one that belongs
 * to root and that only root may write to, and the tree has no other entry.
 *
 * @throws PackError naming the problem
 */
export function readFacts(places: PackPlaces): PackFacts {
  const { directory, tree } = places;
  for (const path of [join(directory, '..'), directory, tree, join(tree, 'usr'), join(tree, 'etc')]) checkOwn(path);
  const stranger = readdirSync(tree).find((name) => name !== 'usr' && name !== 'etc');
  if (stranger !== undefined) throw new PackError(`${join(tree, stranger)} is not an entry that a pack may bring`);
  const facts = readJson(places.facts);
  if (!fits(PackFacts, facts)) throw new PackError(`${places.facts} does not have the facts of a pack`);
  if (packPlaces(join(directory, '../..'), facts.name, facts.version).directory !== join(directory)) {
    throw new PackError(`${directory} holds another pack: ${facts.name} ${facts.version}`);
  }
  return facts;
}

/** A pack in the form from which cells are made. */
export function packOf(facts: PackFacts, places: PackPlaces): Pack {
  const { name, version, languages, digest, libraries } = facts;
  const binds = [
    { source: join(places.tree, 'usr'), destination: '/usr' },
    { source: join(places.tree, 'etc'), destination: '/etc' },
    { source: process.execPath, destination: GUEST.node },
  ];
  const environment = readFileSync(join(places.tree, 'etc/environment'), 'utf8').split('\n').filter(Boolean);
  return { ...packView({ name, version, languages, digest, ...(libraries && { libraries }) }), binds, environment };
}

/** Removes a pack. No service that offers it may be running, because its cells would lose their tree. */
export function removePack(packs: string, name: string, version: string | null): PackPlaces {
  const places = requirePack(packs, name, version);
  removeDirectory(packs, places.directory);
  if (readdirSync(join(packs, name)).length === 0) rmSync(join(packs, name), { recursive: true });
  return places;
}

/** Renames the directory first, so that a partial pack is never found. */
function removeDirectory(packs: string, directory: string): void {
  const aside = join(packs, `.removed-${process.pid}-${Date.now()}`);
  renameSync(directory, aside);
  rmSync(aside, { recursive: true });
}

function list(packs: string, name: string, version: string): Listed {
  try {
    return { name, version, facts: readFacts(packPlaces(packs, name, version)), problem: null };
  } catch (error) {
    return { name, version, facts: null, problem: (error as Error).message };
  }
}

const collator = new Intl.Collator('en', { numeric: true });

/** Orders versions by their numbers: 1.9 comes before 1.10. */
function byVersion(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : 1);
}

function directoriesIn(path: string, pattern: RegExp): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => pattern.test(entry.name))
    .map((entry) => entry.name)
    .toSorted();
}

function checkOwn(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) {
    throw new PackError(`${path} is ${stats?.isSymbolicLink() ? 'a symbolic link' : 'not a directory'}`);
  }
  if (stats.uid !== 0 || (stats.mode & 0o022) !== 0)
    throw new PackError(`${path} can be changed by users other than root`);
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new PackError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
