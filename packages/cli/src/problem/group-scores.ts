/**
 * The groups of a scoring problem as the contract has them, by the default grader of the legacy format and by the draft's
 * rules. The judge counts what they win.
 */
import type { GradeGroup } from '@vouchbox/client';
import { UsageError } from '../failures/usage-error.ts';
import type { Settings } from './yaml.ts';

export interface ScoredDirectory {
  readonly directories: ReadonlyMap<string, Settings>;
  readonly isLegacy: boolean;
}

export interface GroupScores {
  readonly groups: readonly GradeGroup[];
  /** What each test in a directory counts by itself. */
  pointsOf(directory: string): number;
}

interface Score {
  /** Of the group as a whole; null: its tests are added up. */
  readonly whole: number | null;
  readonly each: number;
}

/** @throws UsageError for what cannot be counted: other graders, averages, the smallest of several groups */
export function groupScores(tests: readonly { readonly directory: string }[], how: ScoredDirectory): GroupScores {
  const counts = new Map<string, number>();
  for (const { directory } of tests) counts.set(directory, (counts.get(directory) ?? 0) + 1);
  const names = [...counts.keys()];
  const scores = new Map(
    names.map((name) => [name, how.isLegacy ? legacyScore(name, how) : draftScore(name, counts, how)]),
  );
  requireLeaves(names, how);
  return {
    groups: names.map((name) => {
      const points = scores.get(name)?.whole ?? null;
      return {
        name,
        ...(points !== null && { score: 'minimum' as const, points }),
        stop: how.isLegacy && breaks(name, how),
        after: how.isLegacy ? groupsBefore(name, names, how) : [],
      };
    }),
    pointsOf: (directory) => scores.get(directory)?.each ?? 0,
  };
}

const isSample = (directory: string) => /^sample(\/|$)/.test(directory);

/** Settings of the directory, or of the nearest above it that has some. */
function legacySettings(directory: string, { directories }: ScoredDirectory): Settings | undefined {
  const own = directories.get(directory);
  if (own !== undefined || directory === '') return own;
  return legacySettings(directory.split('/').slice(0, -1).join('/'), { directories, isLegacy: true });
}

function legacyScore(directory: string, how: ScoredDirectory): Score {
  const settings = legacySettings(directory, how);
  const mode = legacyMode(directory, settings);
  const ignoresSample = how.directories.get('')?.words('grader_flags')?.includes('ignore_sample') ?? false;
  if (isSample(directory) && ignoresSample) return { whole: null, each: 0 };
  const points = settings?.number('accept_score') ?? 1;
  if ((settings?.number('reject_score') ?? 0) !== 0) throw uncounted(directory, 'points for rejected tests');
  // All tests of a group count the same, so their smallest is what one counts, if all are accepted.
  return mode === 'min' ? { whole: points, each: 0 } : { whole: null, each: points };
}

/** The last mode that is named holds, as the default grader takes it. */
function legacyMode(directory: string, settings: Settings | undefined): 'sum' | 'min' {
  if ((settings?.text('grading') ?? 'default') !== 'default') throw uncounted(directory, 'a grader of its own');
  const mode = (settings?.words('grader_flags') ?? []).findLast((flag) => /^(sum|min|max|avg)$/.test(flag)) ?? 'sum';
  if (mode === 'sum' || mode === 'min') return mode;
  throw uncounted(directory, mode);
}

/** Whether judging ends at the first that is not accepted of what is in a directory: tests and groups. */
function breaks(directory: string, how: ScoredDirectory): boolean {
  const word = legacySettings(directory, how)?.text('on_reject') ?? 'break';
  if (word === 'break' || word === 'continue') return word === 'break';
  throw uncounted(directory, `on_reject: ${word}`);
}

/** The samples come first, and the groups of `secret` in the order of their names. */
function groupsBefore(directory: string, names: readonly string[], how: ScoredDirectory): string[] {
  if (isSample(directory)) return [];
  const before = names.slice(0, names.indexOf(directory));
  return before.filter((name) => breaks(isSample(name) ? '' : SECRET, how));
}

const SECRET = 'secret';
const secretPoints = 100;

/** A group below `secret` counts as a whole; what the settings leave open is shared out evenly. */
function draftScore(directory: string, counts: ReadonlyMap<string, number>, { directories }: ScoredDirectory): Score {
  if (isSample(directory)) return { whole: null, each: 0 };
  const scoring = directories.get(directory)?.map('scoring');
  const isSecret = directory === SECRET;
  const mode = scoring?.text('aggregation') ?? (isSecret ? 'sum' : 'pass-fail');
  if (scoring?.has('require_pass')) throw uncounted(directory, 'require_pass');
  if (mode !== 'sum' && mode !== 'pass-fail') throw uncounted(directory, mode);
  const total = directories.get(SECRET)?.map('scoring').number('score') ?? secretPoints;
  const below = [...counts.keys()].filter((name) => name.startsWith(`${SECRET}/`));
  const given = below.flatMap((name) => directories.get(name)?.map('scoring').number('score') ?? []);
  const direct = counts.get(SECRET) ?? 0;
  const open =
    (total - given.reduce((sum, points) => sum + points, 0)) / Math.max(1, direct + below.length - given.length);
  if (open < 0) throw uncounted(SECRET, 'groups that count more than all');
  if (isSecret) return mode === 'sum' ? { whole: null, each: open } : { whole: total, each: 0 };
  const points = scoring?.number('score') ?? open;
  return mode === 'sum' ? { whole: null, each: points / (counts.get(directory) ?? 1) } : { whole: points, each: 0 };
}

/** Groups are added up. A directory that takes the smallest of groups below it, or that lies too deep, is another rule. */
function requireLeaves(names: readonly string[], how: ScoredDirectory): void {
  for (const name of names) {
    if (name.split('/').length > 2) throw uncounted(name, 'groups in groups of secret');
  }
  const inner = ['', SECRET].filter((directory) =>
    names.some((name) => name !== directory && name.startsWith(directory)),
  );
  for (const directory of inner) {
    const settings = how.directories.get(directory);
    if (how.isLegacy) {
      const hasOne = settings?.words('grader_flags')?.includes('ignore_sample') ?? false;
      if (!hasOne && legacyMode(directory, settings) !== 'sum') throw uncounted(directory, 'the smallest of groups');
    } else if ((settings?.map('scoring').text('aggregation') ?? 'sum') !== 'sum') {
      throw uncounted(directory, 'groups that are not added up');
    }
  }
}

function uncounted(directory: string, what: string): UsageError {
  return new UsageError(`data/${directory}: ${what} cannot be counted by this command`);
}
