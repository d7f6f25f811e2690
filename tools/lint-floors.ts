/**
 * Checks the floors within every folder: imports between the folders and files in one folder, including imports of types, go in
 * one direction and form no cycle. Tests and fixtures are left out. For each folder with a cycle, `npm run deps` prints the
 * cycle; if it printed any, it exits with 1.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

/** One file that imports another. Both paths begin at the root of the tree. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** The imports within one folder: for each folder or file in it, the others that it imports, each with an example. */
type Arrows = Map<string, Map<string, Import>>;

export function importsIn(root: string): Import[] {
  const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root });
  return files
    .filter((file) => !/\.(test|fixture)\.tsx?$/.test(file))
    .toSorted()
    .flatMap((from) => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(root, from), 'utf8'), true, true);
      const relative = importedFiles.filter(({ fileName }) => fileName.startsWith('.'));
      return relative.map(({ fileName }) => ({ from, to: join(dirname(from), fileName) }));
    });
}

/** The folders whose contents import each other in a cycle, each with the cycle. */
export function floorFaults(imports: readonly Import[]): string[] {
  const folders = new Map<string, Arrows>();
  for (const found of imports) add(folders, found);
  return [...folders].flatMap(([folder, arrows]) => circleIn(folder, arrows));
}

/** Adds an import to the innermost folder that has both files. */
function add(folders: Map<string, Arrows>, found: Import): void {
  const [start, end] = [found.from.split('/'), found.to.split('/')];
  const depth = start.findIndex((part, index) => part !== end[index]);
  const [folder, from = '', to = ''] = [start.slice(0, depth).join('/'), start[depth], end[depth]];
  const arrows: Arrows = folders.get(folder) ?? new Map();
  const targets = arrows.get(from) ?? new Map<string, Import>();
  folders.set(folder, arrows.set(from, targets.set(to, found)));
}

function circleIn(folder: string, arrows: Arrows): string[] {
  for (const [from, targets] of arrows) {
    for (const [to, example] of targets) {
      const back = wayBetween(arrows, to, from);
      if (back === null) continue;
      const steps = [example, ...back].map(({ from: importer, to: imported }) => `\n  ${importer} imports ${imported}`);
      return [`${folder} has a circle:${steps.join('')}`];
    }
  }
  return [];
}

/** The shortest way from one child of a folder to another; null if there is none. */
function wayBetween(arrows: Arrows | undefined, start: string, end: string): Import[] | null {
  const ways = new Map<string, Import[]>([[start, []]]);
  for (const [place, way] of ways) {
    if (place === end) return way;
    for (const [next, example] of arrows?.get(place) ?? []) {
      if (!ways.has(next)) ways.set(next, [...way, example]);
    }
  }
  return null;
}

function main(root: string): void {
  const faults = floorFaults(importsIn(root));
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

if (import.meta.main) main(join(import.meta.dirname, '..'));
