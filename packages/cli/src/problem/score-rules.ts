/** Each format's rules for the groups of a scoring problem. */
import { UsageError } from '../failures/usage-error.ts';
import type { Directories } from './directories.ts';
import type { PackageSettings } from './package-settings.ts';

export interface ScoredData extends Pick<PackageSettings, 'format' | 'isCustom' | 'isScoredByValidator'> {
  readonly directories: Directories;
}

/** How many tests each group has, in the order of the groups. */
export type Counts = ReadonlyMap<string, number>;

/** `whole`: the points of a group whose lowest test counts; null for other groups. `each`: the most points for each test. */
export interface Score {
  readonly whole: number | null;
  readonly each: number;
}

export interface ScoreRules {
  /** The group that the tests in a directory belong to. */
  groupOf(directory: string): string;
  scoreOf(group: string, counts: Counts): Score;
  /** Whether the group ends at the first test that wins no points. */
  stops(group: string): boolean;
  /** The groups whose tests must all be accepted before this group runs. */
  after(group: string, counts: Counts): string[];
}

export const SECRET = 'secret';

export function isSample(directory: string): boolean {
  return /^sample(\/|$)/.test(directory);
}

export function uncounted(directory: string, what: string): UsageError {
  return new UsageError(`data/${directory}: ${what} cannot be counted by this command`);
}

/** Refuses groups inside a group of `secret`, and groups whose points are not added up: the message then says `otherwise`. */
export function requireLeaves(counts: Counts, isAdded: (directory: string) => boolean, otherwise: string): void {
  const names = [...counts.keys()];
  const deep = names.find((name) => name.split('/').length > 2);
  if (deep !== undefined) throw uncounted(deep, 'groups in groups of secret');
  for (const directory of ['', SECRET]) {
    const hasGroups = names.some((name) => name !== directory && name.startsWith(directory));
    if (hasGroups && !isAdded(directory)) throw uncounted(directory, otherwise);
  }
}
