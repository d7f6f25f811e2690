/** Turns a scoring problem into the contract's groups, by the rules of the problem's format. The judge counts the points. */
import type { GradeGroup } from '@vouchbox/client';
import { boundedRules } from './bounded-scores.ts';
import { draftRules } from './draft-scores.ts';
import { legacyRules } from './legacy-scores.ts';
import type { ScoredData, ScoreRules } from './score-rules.ts';

export interface GroupScores extends Pick<ScoreRules, 'groupOf'> {
  readonly groups: readonly GradeGroup[];
  /** The most points for each test in a group. */
  pointsOf(group: string): number;
}

/** @throws UsageError if points cannot be counted: another grader counts them, they are averages, or they have no bound */
export function groupScores(tests: readonly { readonly directory: string }[], data: ScoredData): GroupScores {
  const rules = rulesOf(data);
  const counts = new Map<string, number>();
  for (const { directory } of tests) {
    const group = rules.groupOf(directory);
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  const names = [...counts.keys()];
  const scores = new Map(names.map((name) => [name, rules.scoreOf(name, counts)]));
  const groups = names.map((name) => {
    const points = scores.get(name)?.whole ?? null;
    const scored = points === null ? {} : { score: 'minimum' as const, points };
    return { name, ...scored, stop: rules.stops(name), after: rules.after(name, counts) };
  });
  return {
    groups,
    groupOf: (directory) => rules.groupOf(directory),
    pointsOf: (group) => scores.get(group)?.each ?? 0,
  };
}

function rulesOf(data: ScoredData): ScoreRules {
  if (data.format === 'legacy') return legacyRules(data);
  const isBounded = [...data.directories.values()].some((one) => one.has('max_score') || one.has('score_aggregation'));
  return data.format === '2025-09' || isBounded ? boundedRules(data) : draftRules(data);
}
