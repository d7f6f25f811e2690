/** The tests of a package in their groups: `data/sample` and `data/secret`, with the settings of each directory. */
import { UsageError } from '../failures/usage-error.ts';
import { groupScores, type ScoredDirectory } from './group-scores.ts';
import type { PackageSettings } from './package-settings.ts';
import type { Problem, ProblemTest } from './problem.ts';
import type { ProblemTree } from './tree.ts';
import { Settings } from './yaml.ts';

const INPUT = /^data\/((?:sample|secret)(?:\/[^/]+)*)\/([^/]+)\.in$/;
/** Names that a directory's settings have, the newer first. */
const SETTINGS_FILES = ['test_group.yaml', 'testdata.yaml'];

/** A test with the flags of its output validator as the checker's arguments. */
export type PackageTest = ProblemTest & Required<Pick<ProblemTest, 'checkerArgs' | 'expected'>>;

export interface PackageTests extends Pick<Problem, 'groups' | 'inputFlags'> {
  readonly tests: readonly PackageTest[];
}

/** @throws UsageError if there is none, or one cannot be read or counted */
export async function readPackageTests(tree: ProblemTree, settings: PackageSettings): Promise<PackageTests> {
  const directories = await readDirectories(tree);
  const found = tree.paths.flatMap((path) => {
    const [, directory, name] = INPUT.exec(path) ?? [];
    return directory === undefined || name === undefined ? [] : [{ path, directory, name: `${directory}/${name}` }];
  });
  if (found.length === 0) throw new UsageError('the package has no tests: no data/secret/NAME.in');
  const stray = tree.paths.find((path) => /^data\/(sample|secret)\/.*\.files\//.test(path));
  if (stray !== undefined) throw new UsageError(`${stray}: tests with files of their own are not read`);
  const scores = settings.isScoring ? groupScores(found, { directories, isLegacy: settings.isLegacy }) : null;
  const tests: PackageTest[] = [];
  const inputFlags = new Map<string, readonly string[]>();
  for (const { path, directory, name } of found) {
    const own = await ownSettings(tree, path, settings);
    const above = nearest(directories, directory, settings.isLegacy);
    inputFlags.set(name, own?.words('input_validator_args') ?? flagsOf(above, 'input_validator'));
    tests.push({
      name,
      ...(scores !== null && { group: directory }),
      isSample: directory.startsWith('sample'),
      stdin: await tree.text(path),
      expected: await tree.text(path.replace(/\.in$/, '.ans')),
      ...(own?.has('args') && { args: own.words('args') ?? [] }),
      points: scores?.pointsOf(directory) ?? 1,
      checkerArgs: [
        ...settings.validatorFlags,
        ...(own?.words('output_validator_args') ?? flagsOf(above, 'output_validator')),
      ],
    });
  }
  return { tests, groups: scores?.groups ?? [], inputFlags };
}

/** The settings of each directory that has some, by its path below `data`. */
async function readDirectories(tree: ProblemTree): Promise<ReadonlyMap<string, Settings>> {
  const directories = new Map<string, Settings>();
  for (const path of tree.paths) {
    const [, directory = '', file = ''] = /^data(?:\/(.*))?\/([^/]+)$/.exec(path) ?? [];
    const isNewer = file === SETTINGS_FILES[0];
    if (!SETTINGS_FILES.includes(file) || (directories.has(directory) && !isNewer)) continue;
    directories.set(directory, Settings.of(path, await tree.text(path)));
  }
  return directories;
}

/** In the draft a test can have settings of its own. */
async function ownSettings(tree: ProblemTree, path: string, { isLegacy }: PackageSettings): Promise<Settings | null> {
  const file = path.replace(/\.in$/, '.yaml');
  return !isLegacy && tree.paths.includes(file) ? Settings.of(file, await tree.text(file)) : null;
}

/** Of a legacy package the nearest file counts alone; in the draft each key is inherited, of which flags alone matter here. */
function nearest(
  directories: ScoredDirectory['directories'],
  directory: string,
  isLegacy: boolean,
): readonly Settings[] {
  const parts = ['', ...directory.split('/')];
  const chain = parts.map((_, at) => parts.slice(1, parts.length - at).join('/'));
  const found = chain.flatMap((path) => directories.get(path) ?? []);
  return isLegacy ? found.slice(0, 1) : found;
}

/** `output_validator_flags` of a legacy package, a text or a mapping with `flags`; `output_validator_args` of the draft. */
function flagsOf(above: readonly Settings[], kind: 'output_validator' | 'input_validator'): readonly string[] {
  for (const settings of above) {
    const legacy = `${kind}_flags`;
    if (settings.isMap(legacy)) return settings.map(legacy).words('flags') ?? [];
    const words = settings.words(legacy) ?? settings.words(`${kind}_args`);
    if (words !== undefined) return words;
  }
  return [];
}
