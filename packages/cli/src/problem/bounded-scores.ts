/**
 * Points in the format 2025-09: `secret` and each group below it have a maximum. A validator may give a part of a test's points.
 */
import type { Directories } from './directories.ts';
import {
  type Counts,
  isSample,
  type Score,
  type ScoredData,
  type ScoreRules,
  SECRET,
  uncounted,
} from './score-rules.ts';

const SAMPLE = 'sample';
const secretPoints = 100;

export function boundedRules({ directories, isCustom }: ScoredData): ScoreRules {
  return {
    groupOf: (directory) => groupOf(directory, directories),
    scoreOf(group, counts) {
      requireOneLevel(counts, directories);
      if (group === SAMPLE) return { whole: 0, each: sampleEach(counts, { directories, isCustom }) };
      return scoreOf(group, counts, directories);
    },
    stops: () => false,
    after: (group, counts) => (group === SAMPLE ? [] : requiredBy(group, counts, directories)),
  };
}

/** `sample`, or the directory in `secret` that `directory` is or lies in if `directories` has that one; otherwise `secret`. */
function groupOf(directory: string, directories: Directories): string {
  if (isSample(directory)) return SAMPLE;
  const [, below] = directory.split('/');
  const group = `${SECRET}/${below}`;
  return below !== undefined && directories.has(group) ? group : SECRET;
}

/** The most points for a sample. A sample's points do not count, but a validator that gave more points would seem to fail. */
function sampleEach(counts: Counts, { directories, isCustom }: Pick<ScoredData, 'directories' | 'isCustom'>): number {
  // A sample passes only with all of its points. So samples have no points if a group requires them to pass.
  const others = [...counts.keys()].filter((name) => name !== SAMPLE);
  const isAwaited = others.some((name) => requiredBy(name, counts, directories).includes(SAMPLE));
  return isCustom && !isAwaited ? mostOf(SECRET, directories) : 0;
}

function scoreOf(group: string, counts: Counts, directories: Directories): Score {
  const most = mostOf(group, directories);
  const mode = modeOf(group, directories);
  if (mode === 'sum') return { whole: null, each: most / (counts.get(group) ?? 1) };
  return { whole: most, each: mode === 'min' ? most : 0 };
}

function modeOf(group: string, directories: Directories): 'sum' | 'min' | 'pass-fail' {
  const usual = group === SECRET ? 'sum' : 'pass-fail';
  const mode = directories.get(group)?.text('score_aggregation') ?? usual;
  if (mode === 'sum' || mode === 'min' || mode === 'pass-fail') return mode;
  throw uncounted(group, `score_aggregation: ${mode}`);
}

function mostOf(group: string, directories: Directories): number {
  const settings = directories.get(group);
  if (settings?.has('static_validation_score')) throw uncounted(group, 'what a static validator says');
  const said = settings?.has('max_score') ? settings : undefined;
  if (said === undefined && group === SECRET) return secretPoints;
  if (said === undefined || said.text('max_score') === 'unbounded')
    throw uncounted(group, 'a score without a max_score');
  return said.number('max_score') ?? 0;
}

/** Requires that `secret` has either tests or groups, and that their points are added up. */
function requireOneLevel(counts: Counts, directories: Directories): void {
  const groups = [...counts.keys()].filter((name) => name.startsWith(`${SECRET}/`));
  const deep = [...directories.keys()].find((name) => /^secret\/[^/]+\/./.test(name));
  if (deep !== undefined) throw uncounted(deep, 'groups in groups of secret');
  if (groups.length === 0) return;
  if (counts.has(SECRET)) throw uncounted(SECRET, 'tests beside groups');
  if (modeOf(SECRET, directories) !== 'sum') throw uncounted(SECRET, 'groups that are not added up');
  const total = groups.reduce((sum, name) => sum + mostOf(name, directories), 0);
  if (total > mostOf(SECRET, directories)) throw uncounted(SECRET, 'groups with more points than secret as a whole');
}

/** The groups that must pass before a group runs, by its own settings or those of `secret`. Missing samples count as passed. */
function requiredBy(group: string, counts: Counts, directories: Directories): string[] {
  const names = [...counts.keys()];
  const said = [SECRET, group].flatMap((name) => directories.get(name)?.words('require_pass') ?? []);
  const required = [...new Set(said)].filter((name) => name !== SAMPLE || counts.has(SAMPLE));
  for (const name of required) {
    const isEarlier = names.slice(0, names.indexOf(group)).includes(name);
    if (!isEarlier || (name !== SAMPLE && modeOf(name, directories) !== 'pass-fail'))
      throw uncounted(group, `require_pass: ${name}`);
  }
  return required;
}
