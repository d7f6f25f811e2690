/**
 * A pack's libraries, as found in its tree: for Python the distributions with the modules that a program imports, for Node the
 * packages. Names of distributions and of modules differ, so both are read from the packages' own metadata. Nothing of the tree
 * runs, and no link in it is followed.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { librariesMax, type PackLibrary, pathComponentBytesMax } from '@vouchbox/protocol';

const textBytesMax = 4 * 1024 * 1024;
const modulesMax = 32;
const PYTHON_PLACES = /^usr\/(local\/)?lib\/python3(\.\d+)?$/;
const NODE_PLACES = ['usr/local/lib/node_modules', 'usr/share/nodejs'];

/** Lists libraries, sorted by name, and at most as many as the contract allows. */
export function librariesIn(tree: string): PackLibrary[] {
  const found = [...pythonLibraries(tree), ...nodeLibraries(tree)];
  const byName = found.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return byName.filter(({ name }) => name.length <= pathComponentBytesMax).slice(0, librariesMax);
}

/** The distributions, and then the modules that no distribution names. The parts of a distribution may be in several places. */
function pythonLibraries(tree: string): PackLibrary[] {
  const places = pythonPlaces(tree).map((place) => ({ place, names: namesIn(tree, place) }));
  const modules = new Set(places.flatMap(({ names }) => names.flatMap(moduleOf)));
  const distributions = places.flatMap(({ place, names }) =>
    names
      .filter((name) => /\.(dist|egg)-info$/.test(name))
      .flatMap((name) => distribution(tree, `${place}/${name}`, modules) ?? []),
  );
  const named = new Set(distributions.flatMap((library) => library.modules));
  const others = [...modules].filter((module) => !named.has(module) && !module.startsWith('_'));
  return [...distributions, ...others.map((module) => pythonLibrary(module, null, [module]))];
}

function pythonPlaces(tree: string): string[] {
  const parents = ['usr/lib', 'usr/local/lib'].flatMap((parent) =>
    namesIn(tree, parent).map((name) => `${parent}/${name}`),
  );
  return parents.filter((path) => PYTHON_PLACES.test(path)).map((path) => `${path}/dist-packages`);
}

/** The name by which a program can import this entry; none if the entry is not a module. */
function moduleOf(entry: string): string[] {
  const name = entry.replace(/(\.py|\.[\w-]+\.so|\.so)$/, '');
  return /^[A-Za-z_]\w*$/.test(name) && name !== '__pycache__' ? [name] : [];
}

/** A distribution with those of its modules that are there; null if the pack left all of them out. */
function distribution(tree: string, path: string, there: ReadonlySet<string>): PackLibrary | null {
  const metadata = textOf(tree, `${path}/METADATA`) ?? textOf(tree, `${path}/PKG-INFO`) ?? textOf(tree, path) ?? '';
  const [name, version] = [headerOf(metadata, 'Name'), headerOf(metadata, 'Version')];
  if (name === null) return null;
  const listed = textOf(tree, `${path}/top_level.txt`) ?? recordedModules(textOf(tree, `${path}/RECORD`));
  const spelled = name.replaceAll(/[-.]+/g, '_');
  const modules = (listed ?? [spelled, spelled.toLowerCase()].join('\n')).split('\n').map((line) => line.trim());
  const own = [...new Set(modules)].filter((module) => there.has(module));
  return own.length === 0 ? null : pythonLibrary(name, version, own);
}

function recordedModules(record: string | null): string | null {
  if (record === null) return null;
  return record
    .split('\n')
    .flatMap((line) => moduleOf(/^"?([^/,"]+)/.exec(line)?.[1] ?? ''))
    .join('\n');
}

function pythonLibrary(name: string, version: string | null, modules: readonly string[]): PackLibrary {
  return { language: 'python', name, version, modules: modules.slice(0, modulesMax) };
}

function nodeLibraries(tree: string): PackLibrary[] {
  return NODE_PLACES.flatMap((place) => {
    const names = namesIn(tree, place).flatMap((name) =>
      name.startsWith('@') ? namesIn(tree, `${place}/${name}`).map((inner) => `${name}/${inner}`) : [name],
    );
    return names.flatMap((name) => nodeLibrary(name, textOf(tree, `${place}/${name}/package.json`)));
  });
}

function nodeLibrary(name: string, text: string | null): PackLibrary[] {
  if (text === null) return [];
  try {
    const { version } = JSON.parse(text) as { version?: unknown };
    return [{ language: 'node', name, version: typeof version === 'string' ? version : null, modules: [name] }];
  } catch {
    return [];
  }
}

function headerOf(metadata: string, name: string): string | null {
  return new RegExp(`^${name}: (\\S.{0,99})$`, 'm').exec(metadata)?.[1]?.trim() ?? null;
}

/** The names in a directory of the tree; none if there is no directory, or if a link leads to it. */
function namesIn(tree: string, path: string): string[] {
  return isPlain(tree, path, 'directory') ? readdirSync(join(tree, path)).toSorted() : [];
}

function textOf(tree: string, path: string): string | null {
  return isPlain(tree, path, 'file') ? readFileSync(join(tree, path), 'utf8') : null;
}

function isPlain(tree: string, path: string, kind: 'file' | 'directory'): boolean {
  const parts = path.split('/');
  for (let depth = 1; depth < parts.length; depth++) {
    if (!lstatSync(join(tree, ...parts.slice(0, depth)), { throwIfNoEntry: false })?.isDirectory()) return false;
  }
  const stats = lstatSync(join(tree, path), { throwIfNoEntry: false });
  if (kind === 'directory') return stats?.isDirectory() ?? false;
  return (stats?.isFile() ?? false) && (stats?.size ?? 0) <= textBytesMax;
}
