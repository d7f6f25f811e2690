/** What `problem.yaml` says, in the legacy format and in 2023-07-draft, and where the limit of time is in older packages. */
import type { LimitName } from '@vouchbox/protocol/vocabulary';
import { UsageError } from '../failures/usage-error.ts';
import type { ProblemTree } from './tree.ts';
import { Settings } from './yaml.ts';

export interface PackageSettings {
  readonly name: string | null;
  readonly isLegacy: boolean;
  readonly isScoring: boolean;
  /** Whether the package has an output validator of its own. */
  readonly isCustom: boolean;
  readonly validatorFlags: readonly string[];
  readonly limits: Readonly<Partial<Record<LimitName, number>>>;
  readonly notes: readonly string[];
}

const LEGACY = ['legacy', 'legacy-icpc'];
const DRAFTS = ['2023-07-draft', '2023-07'];
/** What no grading here can be, with what it lacks. */
const OTHER_TYPES: Readonly<Record<string, string>> = {
  interactive: 'a program that talks with its judge',
  'multi-pass': 'a program that runs in several passes',
  'submit-answer': 'answers without a program',
};

/** @throws UsageError if it cannot be graded here, or is not written as the format says */
export async function readSettings(tree: ProblemTree): Promise<PackageSettings> {
  const settings = Settings.of('problem.yaml', await tree.text('problem.yaml'));
  const format = settings.text('problem_format_version') ?? 'legacy';
  const isLegacy = LEGACY.includes(format);
  if (!isLegacy && !DRAFTS.includes(format)) {
    throw new UsageError(`problem.yaml: the format ${format} is not read, but ${[...LEGACY, ...DRAFTS].join(', ')}`);
  }
  const types = settings.words('type') ?? ['pass-fail'];
  const validation = isLegacy ? (settings.words('validation') ?? ['default']) : [];
  for (const word of [...types, ...validation]) refuseType(word);
  if (validation.includes('score')) throw new UsageError('problem.yaml: validators that give a score are not read');
  const { limits, notes } = await readLimits(tree, settings.map('limits'));
  return {
    name: settings.named('name') ?? null,
    isLegacy,
    isScoring: types.includes('scoring'),
    isCustom: isLegacy ? validation[0] === 'custom' : tree.paths.some((path) => /^output_validators?\//.test(path)),
    validatorFlags: settings.words('validator_flags') ?? [],
    limits,
    notes,
  };
}

function refuseType(word: string): void {
  const lacks = OTHER_TYPES[word];
  if (lacks !== undefined) throw new UsageError(`problem.yaml: ${word}: ${lacks} cannot be graded by this command`);
  if (!['pass-fail', 'scoring', 'default', 'custom', 'score'].includes(word)) {
    throw new UsageError(`problem.yaml: ${word} is no known type of problem or validation`);
  }
}

/** Bounds of the compiler and of validators are those of their own jobs. */
async function readLimits(tree: ProblemTree, given: Settings) {
  const seconds = given.number('time_limit') ?? (await olderTimeLimit(tree));
  const memory = given.number('memory');
  const limits: Partial<Record<LimitName, number>> = {
    // The wall clock guards against programs that sleep: a busy host must not let it end one that has processor time left.
    ...(seconds !== undefined && { cpu_seconds: seconds, wall_seconds: Math.max(10, Math.ceil(3 * seconds + 2)) }),
    ...(memory !== undefined && { mem_mb: Math.ceil(memory) }),
  };
  const untimed = 'the package names no time limit: that of the service holds, or --limit cpu_seconds=N';
  return { limits, notes: seconds === undefined ? [untimed] : [] };
}

/** Tools keep it in files of their own where the format has no key for it. */
async function olderTimeLimit(tree: ProblemTree): Promise<number | undefined> {
  if (tree.paths.includes('.timelimit')) return secondsIn('.timelimit', await tree.text('.timelimit'));
  if (!tree.paths.includes('domjudge-problem.ini')) return undefined;
  const [, text] = /^\s*timelimit\s*=\s*['"]?([^'"\s]+)/m.exec(await tree.text('domjudge-problem.ini')) ?? [];
  return text === undefined ? undefined : secondsIn('domjudge-problem.ini', text);
}

function secondsIn(file: string, text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new UsageError(`${file} has no number of seconds`);
}
