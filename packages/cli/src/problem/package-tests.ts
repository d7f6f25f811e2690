/** Reads a package's tests with their groups, from `data/sample` and `data/secret`, and the settings of each directory. */
import { UsageError } from '../failures/usage-error.ts';
import { type Directories, settingsAbove } from './directories.ts';
import { groupScores } from './group-scores.ts';
import { leavesSamplesOut } from './legacy-scores.ts';
import type { PackageSettings } from './package-settings.ts';
import type { Problem, ProblemTest } from './problem.ts';
import { isSample } from './score-rules.ts';
import type { ProblemTree } from './tree.ts';
import { Settings } from './yaml.ts';

const INPUT = /^data\/((?:sample|secret)(?:\/[^/]+)*)\/([^/]+)\.in$/;
/** The possible names of the file with a directory's settings, the newer name first. */
const SETTINGS_FILES = ['test_group.yaml', 'testdata.yaml'];

/** A test, with the output validator's flags as the checker's arguments. */
export type PackageTest = ProblemTest & Required<Pick<ProblemTest, 'checkerArgs' | 'expected'>>;

export interface PackageTests extends Pick<Problem, 'groups' | 'inputFlags' | 'notes'> {
  readonly tests: readonly PackageTest[];
}

/** @throws UsageError if the package has no test, or if a test cannot be read or its points cannot be counted */
export async function readPackageTests(tree: ProblemTree, settings: PackageSettings): Promise<PackageTests> {
  const directories = await readDirectories(tree);
  const all = tree.paths.flatMap((path) => {
    const [, directory, name] = INPUT.exec(path) ?? [];
    return directory === undefined || name === undefined ? [] : [{ path, directory, name: `${directory}/${name}` }];
  });
  const stray = tree.paths.find((path) => /^data\/(sample|secret)\/.*\.files\//.test(path));
  if (stray !== undefined) throw new UsageError(`${stray}: tests with files of their own are not supported`);
  const isShort = settings.isScoring && leavesSamplesOut({ ...settings, directories });
  const found = isShort ? all.filter(({ directory }) => !isSample(directory)) : all;
  if (found.length === 0) throw new UsageError('the package has no tests: no data/secret/NAME.in');
  const notes =
    found.length === all.length
      ? []
      : ['the samples are not run: they count nothing, and partial points would count as failed'];
  const scores = settings.isScoring ? groupScores(found, { ...settings, directories }) : null;
  const tests: PackageTest[] = [];
  const inputFlags = new Map<string, readonly string[]>();
  for (const { path, directory, name } of found) {
    const own = await ownSettings(tree, path, settings);
    const above = settingsAbove(directory, directories);
    inputFlags.set(name, own?.words('input_validator_args') ?? flagsOf(above, 'input_validator'));
    const group = scores?.groupOf(directory);
    const args = [...(own === null ? [] : [own]), ...above].find((one) => one.has('args'))?.words('args');
    tests.push({
      name,
      ...(group !== undefined && { group }),
      // In an interactive problem, even the input of a sample is secret: contestants see a protocol instead.
      isSample: isSample(directory) && !settings.isInteractive,
      stdin: await tree.text(path),
      expected: await tree.text(path.replace(/\.in$/, '.ans')),
      ...(args !== undefined && { args }),
      points: scores === null || group === undefined ? 1 : scores.pointsOf(group),
      checkerArgs: [
        ...settings.validatorFlags,
        ...(own?.words('output_validator_args') ?? flagsOf(above, 'output_validator')),
      ],
    });
  }
  return { tests, groups: scores?.groups ?? [], inputFlags, notes };
}

async function readDirectories(tree: ProblemTree): Promise<Directories> {
  const directories = new Map<string, Settings>();
  for (const path of tree.paths) {
    const [, directory = '', file = ''] = /^data(?:\/(.*))?\/([^/]+)$/.exec(path) ?? [];
    const isNewer = file === SETTINGS_FILES[0];
    if (!SETTINGS_FILES.includes(file) || (directories.has(directory) && !isNewer)) continue;
    directories.set(directory, Settings.of(path, await tree.text(path)));
  }
  return directories;
}

/** Since the draft format, a test can have its own settings. */
async function ownSettings(tree: ProblemTree, path: string, { format }: PackageSettings): Promise<Settings | null> {
  const file = path.replace(/\.in$/, '.yaml');
  return format !== 'legacy' && tree.paths.includes(file) ? Settings.of(file, await tree.text(file)) : null;
}

/** A validator's flags. Legacy packages have `…_flags`: a text, or a mapping with `flags`. Later packages have `…_args`. */
function flagsOf(above: readonly Settings[], kind: 'output_validator' | 'input_validator'): readonly string[] {
  for (const settings of above) {
    const legacy = `${kind}_flags`;
    if (settings.isMap(legacy)) return settings.map(legacy).words('flags') ?? [];
    const words = settings.words(legacy) ?? settings.words(`${kind}_args`);
    if (words !== undefined) return words;
  }
  return [];
}
