/** Finds the test files that load a source, by the paths in quotes: imports, and threads started by path. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const TYPES_ONLY = /^(?:import|export) type [^;]*;/gm;
const QUOTED = /(['"])((?:\.{1,2}\/[^'"\n]+\.ts)|(?:@?vouchbox[^'"\n]*))\1/g;

/** For each source in a tree, the files that load it directly. Paths are relative to the tree. */
export type Loaders = ReadonlyMap<string, ReadonlySet<string>>;

export function loadersOf(tree: string): Loaders {
  const packages = packageEntries(tree);
  const loaders = new Map<string, Set<string>>();
  for (const file of globSync(['packages/*/{src,test}/**/*.ts', 'test/**/*.ts'], { cwd: tree })) {
    const text = readFileSync(join(tree, file), 'utf8').replaceAll(TYPES_ONLY, '');
    for (const [, , named = ''] of text.matchAll(QUOTED)) {
      const loaded = named.startsWith('.') ? join(dirname(file), named) : packages.get(named);
      if (loaded === undefined || !existsSync(join(tree, loaded))) continue;
      loaders.set(loaded, (loaders.get(loaded) ?? new Set()).add(file));
    }
  }
  return loaders;
}

/** The test files that load a source, directly or through other files, nearest first. */
export function testsThatLoad(source: string, loaders: Loaders): string[] {
  const seen = new Set([source]);
  for (const file of seen) for (const loader of loaders.get(file) ?? []) seen.add(loader);
  return [...seen].filter((file) => file.endsWith('.test.ts'));
}

/** The file behind each name that a package exports. */
function packageEntries(tree: string): Map<string, string> {
  const entries = new Map<string, string>();
  for (const manifest of globSync('packages/*/package.json', { cwd: tree })) {
    const { name, exports = {} } = JSON.parse(readFileSync(join(tree, manifest), 'utf8'));
    for (const [path, file] of Object.entries(exports as Record<string, string>)) {
      entries.set(join(name, path), join(dirname(manifest), file));
    }
  }
  return entries;
}
