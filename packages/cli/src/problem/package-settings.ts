/** Reads `problem.yaml` in all the formats, and the time limit from the separate file that older packages have for it. */
import type { LimitName } from '@vouchbox/protocol/vocabulary';
import { UsageError } from '../failures/usage-error.ts';
import type { ProblemTree } from './tree.ts';
import { Settings } from './yaml.ts';

/** The formats of packages. The draft and the later format have different words for points. */
export type Format = 'legacy' | 'draft' | '2025-09';

export interface PackageSettings {
  readonly name: string | null;
  readonly format: Format;
  readonly isScoring: boolean;
  /** Whether the package has its own output validator. */
  readonly isCustom: boolean;
  /** Whether a program talks with that validator. */
  readonly isInteractive: boolean;
  /** Whether a legacy package's validator gives points. In later formats, any validator may if points are bounded. */
  readonly isScoredByValidator: boolean;
  readonly validatorFlags: readonly string[];
  readonly limits: Readonly<Partial<Record<LimitName, number>>>;
  readonly notes: readonly string[];
}

const FORMATS: Readonly<Record<string, Format>> = {
  legacy: 'legacy',
  'legacy-icpc': 'legacy',
  '2023-07-draft': 'draft',
  '2023-07': 'draft',
  '2025-09': '2025-09',
};
/** Problem types that cannot be graded here, each with the feature that is missing. */
const OTHER_TYPES: Readonly<Record<string, string>> = {
  'multi-pass': 'a program that runs in several passes',
  'submit-answer': 'answers without a program',
};

/** @throws UsageError if the problem cannot be graded here, or the file does not follow its format */
export async function readSettings(tree: ProblemTree): Promise<PackageSettings> {
  const settings = Settings.of('problem.yaml', await tree.text('problem.yaml'));
  const format = formatOf(settings);
  refuseUnread(tree, settings);
  const types = settings.words('type') ?? ['pass-fail'];
  for (const word of types) refuseType(word, format);
  const isScoring = types.includes('scoring');
  const judging = format === 'legacy' ? legacyJudging(settings, isScoring) : laterJudging(tree, types);
  const { limits, notes } = await readLimits(tree, settings.map('limits'));
  return {
    name: settings.named('name') ?? null,
    format,
    isScoring,
    ...judging,
    validatorFlags: settings.words('validator_flags') ?? [],
    limits,
    notes,
  };
}

function formatOf(settings: Settings): Format {
  const version = settings.text('problem_format_version') ?? 'legacy';
  const format = Object.hasOwn(FORMATS, version) ? FORMATS[version] : undefined;
  if (format !== undefined) return format;
  throw new UsageError(
    `problem.yaml: the format ${version} is not supported; use one of ${Object.keys(FORMATS).join(', ')}`,
  );
}

type Judging = Pick<PackageSettings, 'isCustom' | 'isInteractive' | 'isScoredByValidator'>;

function legacyJudging(settings: Settings, isScoring: boolean): Judging {
  const [first = 'default', ...more] = settings.words('validation') ?? [];
  const unknown = more.find((word) => word !== 'interactive' && word !== 'score');
  if (!['default', 'custom'].includes(first) || unknown !== undefined || (first === 'default' && more.length > 0)) {
    const said = [first, ...more].join(' ');
    throw new UsageError(
      `problem.yaml: validation must be default, or custom with interactive or score, but is ${said}`,
    );
  }
  const isScoredByValidator = more.includes('score');
  if (isScoredByValidator && !isScoring)
    throw new UsageError('problem.yaml: a validator gives a score, but the type is not scoring');
  if (isScoredByValidator && settings.map('grading').text('objective') === 'min')
    throw new UsageError(
      'problem.yaml: objective: min: this command cannot count scores of which the smallest is best',
    );
  return { isCustom: first === 'custom', isInteractive: more.includes('interactive'), isScoredByValidator };
}

function laterJudging(tree: ProblemTree, types: readonly string[]): Judging {
  const isInteractive = types.includes('interactive');
  const isCustom = isInteractive || tree.paths.some((path) => /^output_validators?\//.test(path));
  return { isCustom, isInteractive, isScoredByValidator: false };
}

/** Refuses settings that would change programs or points but are not supported. */
function refuseUnread(tree: ProblemTree, settings: Settings): void {
  const included = tree.paths.find((path) => path.startsWith('include/'));
  if (included !== undefined) throw new UsageError(`${included}: files that go with every program are not read`);
  if (settings.has('constants')) throw new UsageError('problem.yaml: constants are not put into programs and settings');
  const older = ['accept_score', 'reject_score', 'range', 'on_reject'].find((key) => settings.map('grading').has(key));
  if (older !== undefined) throw new UsageError(`problem.yaml: grading: ${older} is read only in data/testdata.yaml`);
}

function refuseType(word: string, format: Format): void {
  const lacks = OTHER_TYPES[word];
  if (lacks !== undefined) throw new UsageError(`problem.yaml: ${word}: ${lacks} cannot be graded by this command`);
  const known = format === 'legacy' ? ['pass-fail', 'scoring'] : ['pass-fail', 'scoring', 'interactive'];
  if (!known.includes(word)) throw new UsageError(`problem.yaml: ${word} is not a known type of problem`);
}

/** The limits of the program. The jobs of the compiler and the validators have their own limits. */
async function readLimits(tree: ProblemTree, given: Settings) {
  const seconds = given.number('time_limit') ?? (await olderTimeLimit(tree));
  const memory = given.number('memory');
  const limits: Partial<Record<LimitName, number>> = {
    // The wall limit stops programs that sleep. On a busy host, it must not stop a program that has processor time left.
    ...(seconds !== undefined && { cpu_seconds: seconds, wall_seconds: Math.max(10, Math.ceil(3 * seconds + 2)) }),
    ...(memory !== undefined && { mem_mb: Math.ceil(memory) }),
  };
  const untimed = "the package names no time limit: the service's limit holds, or --limit cpu_seconds=N";
  return { limits, notes: seconds === undefined ? [untimed] : [] };
}

/** The time limit from a separate file. Tools keep it there if the format has no key for it. */
async function olderTimeLimit(tree: ProblemTree): Promise<number | undefined> {
  if (tree.paths.includes('.timelimit')) return secondsIn('.timelimit', await tree.text('.timelimit'));
  if (!tree.paths.includes('domjudge-problem.ini')) return undefined;
  const [, text] = /^\s*timelimit\s*=\s*['"]?([^'"\s]+)/m.exec(await tree.text('domjudge-problem.ini')) ?? [];
  return text === undefined ? undefined : secondsIn('domjudge-problem.ini', text);
}

function secondsIn(file: string, text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new UsageError(`${file}: the time limit must be a positive number of seconds`);
}
