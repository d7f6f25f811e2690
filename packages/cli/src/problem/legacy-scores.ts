/** Points in the legacy format, counted as the format's default grader counts them. */
import { type Directories, settingOf } from './directories.ts';
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

export function legacyRules({ directories, isScoredByValidator }: ScoredData): ScoreRules {
  return {
    groupOf: (directory) => directory,
    scoreOf(group, counts) {
      requireLeaves(counts, (directory) => isAdded(directory, directories), 'the smallest score of groups');
      return isScoredByValidator ? saidScore(group, counts, directories) : testScore(group, directories);
    },
    stops: (group) => breaks(group, directories),
    after(group, counts) {
      const before = groupsBefore(group, counts, directories);
      const [first] = before;
      // In this format, a program with a part of the points goes on to the next group. In a grading, it does not.
      if (isScoredByValidator && first !== undefined)
        throw uncounted(isSample(first) ? '' : SECRET, 'on_reject: break between groups that a validator scores');
      return before;
    },
  };
}

/** The points that the settings give to each accepted test. */
function testScore(directory: string, directories: Directories): Score {
  const mode = modeOf(directory, directories);
  if (isSample(directory) && ignoresSample(directories)) return { whole: null, each: 0 };
  const points = settingOf(directory, directories, (one) => one.number('accept_score')) ?? 1;
  // All tests in a group have the same points. So if all are accepted, the lowest score is the score of each test.
  return mode === 'min' ? { whole: points, each: 0 } : { whole: null, each: points };
}

/** The most points that the validator can give: the upper end of the group's range. */
function saidScore(directory: string, counts: Counts, directories: Directories): Score {
  const mode = modeOf(directory, directories);
  const most = rangeOf(directory, directories);
  const accepted = settingOf(directory, directories, (one) => one.number('accept_score')) ?? most;
  if (accepted !== most) throw uncounted(directory, 'an accept_score beside scores of a validator');
  if (mode === 'min' || counts.get(directory) === 1) return { whole: most, each: most };
  throw uncounted(directory, 'the sum of scores that a validator gives to several tests');
}

const RANGE = /^\s*\+?\d+(?:\.\d+)?\s+\+?(\d+(?:\.\d+)?)\s*$/;

/** The range of a group's points. The range of `secret` is for all its groups together, so each group needs its own range. */
function rangeOf(directory: string, directories: Directories): number {
  const settings = directory.includes('/')
    ? [directories.get(directory)]
    : [directories.get(directory), directories.get('')];
  const said = settings.find((one) => one?.has('range'))?.text('range');
  if (said === undefined) throw uncounted(directory, 'a score of a validator without a range');
  const [, most] = RANGE.exec(said) ?? [];
  if (most === undefined) throw uncounted(directory, `range: ${said}`);
  return Number(most);
}

/**
 * Whether samples, if they have no points, must be left out. The legacy format accepts a sample to which the validator gave only
 * a part of the points, but a grading would count that sample as failed.
 */
export function leavesSamplesOut({ directories, isScoredByValidator }: ScoredData): boolean {
  if (!isScoredByValidator || !ignoresSample(directories)) return false;
  if (breaks('', directories)) throw uncounted('', 'on_reject: break after samples that a validator scores');
  return true;
}

function ignoresSample(directories: Directories): boolean {
  return directories.get('')?.words('grader_flags')?.includes('ignore_sample') ?? false;
}

function isAdded(directory: string, directories: Directories): boolean {
  return (directory === '' && ignoresSample(directories)) || modeOf(directory, directories) === 'sum';
}

/** The grader's mode. If several modes are named, the last one counts, as in the default grader. */
function modeOf(directory: string, directories: Directories): 'sum' | 'min' {
  if ((settingOf(directory, directories, (one) => one.text('grading')) ?? 'default') !== 'default')
    throw uncounted(directory, 'a grader of its own');
  if ((settingOf(directory, directories, (one) => one.number('reject_score')) ?? 0) !== 0)
    throw uncounted(directory, 'points for rejected tests');
  const mode = flagsOf(directory, directories).findLast((flag) => /^(sum|min|max|avg)$/.test(flag)) ?? 'sum';
  if (mode === 'sum' || mode === 'min') return mode;
  throw uncounted(directory, mode);
}

function flagsOf(directory: string, directories: Directories): readonly string[] {
  return settingOf(directory, directories, (one) => one.words('grader_flags')) ?? [];
}

/** Whether judging a directory ends at its first rejected test or group. */
function breaks(directory: string, directories: Directories): boolean {
  const word = settingOf(directory, directories, (one) => one.text('on_reject')) ?? 'break';
  if (word === 'break' || word === 'continue') return word === 'break';
  throw uncounted(directory, `on_reject: ${word}`);
}

/** The samples come first, and the groups of `secret` in the order of their names. */
function groupsBefore(directory: string, counts: Counts, directories: Directories): string[] {
  if (isSample(directory)) return [];
  const names = [...counts.keys()];
  const before = names.slice(0, names.indexOf(directory));
  return before.filter(
    (name) => breaks(isSample(name) ? '' : SECRET, directories) && !isAlwaysPassed(name, directories),
  );
}

function isAlwaysPassed(directory: string, directories: Directories): boolean {
  const flags = flagsOf(directory, directories);
  if (flags.includes('always_accept')) return true;
  if (!flags.includes('accept_if_any_accepted')) return false;
  throw uncounted(directory, 'accept_if_any_accepted of a group that others wait for');
}
