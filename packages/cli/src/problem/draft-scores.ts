/** Points in the draft format: a group below `secret` counts as a whole, and points that no setting gives are divided evenly. */
import type { Directories } from './directories.ts';
import {
  type Counts,
  isSample,
  requireLeaves,
  type Score,
  type ScoredData,
  type ScoreRules,
  SECRET,
  uncounted,
} from './score-rules.ts';

const secretPoints = 100;

export function draftRules({ directories }: ScoredData): ScoreRules {
  return {
    groupOf: (directory) => directory,
    scoreOf(group, counts) {
      requireLeaves(counts, (directory) => isAdded(directory, directories), 'groups that are not added up');
      return isSample(group) ? { whole: null, each: 0 } : scoreOf(group, counts, directories);
    },
    stops: () => false,
    after: () => [],
  };
}

function scoringOf(directory: string, directories: Directories) {
  return directories.get(directory)?.map('scoring');
}

function isAdded(directory: string, directories: Directories): boolean {
  return (scoringOf(directory, directories)?.text('aggregation') ?? 'sum') === 'sum';
}

function scoreOf(directory: string, counts: Counts, directories: Directories): Score {
  const scoring = scoringOf(directory, directories);
  const isSecret = directory === SECRET;
  const mode = scoring?.text('aggregation') ?? (isSecret ? 'sum' : 'pass-fail');
  if (scoring?.has('require_pass')) throw uncounted(directory, 'require_pass');
  if (mode !== 'sum' && mode !== 'pass-fail') throw uncounted(directory, mode);
  const total = scoringOf(SECRET, directories)?.number('score') ?? secretPoints;
  const below = [...counts.keys()].filter((name) => name.startsWith(`${SECRET}/`));
  const given = below.flatMap((name) => scoringOf(name, directories)?.number('score') ?? []);
  const direct = counts.get(SECRET) ?? 0;
  const open =
    (total - given.reduce((sum, points) => sum + points, 0)) / Math.max(1, direct + below.length - given.length);
  if (open < 0) throw uncounted(SECRET, 'groups with more points than secret as a whole');
  if (isSecret) return mode === 'sum' ? { whole: null, each: open } : { whole: total, each: 0 };
  const points = scoring?.number('score') ?? open;
  return mode === 'sum' ? { whole: null, each: points / (counts.get(directory) ?? 1) } : { whole: points, each: 0 };
}
