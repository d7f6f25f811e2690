/** The words by which a launcher is told what to do in the groups of a cell. `groups.c` reads them. */
import type { GroupFile, Measure, Reading, Writing } from '../../kernel/cgroup/cgroup.ts';

export function readingWord({ directory, file }: GroupFile): string {
  return `${directory}/${file}`;
}

export function writingWord({ directory, file, value }: Writing): string {
  return `${directory}/${file}=${value}`;
}

/** A number that a launcher has read; NaN if it is in no file. Throws if it should have been read. */
export function measured(sections: ReadonlyMap<string, string>, reading: Reading | null, measure: Measure): number {
  if (reading === null) return Number.NaN;
  const text = sections.get(readingWord(reading));
  if (text === undefined) throw new Error(`the launcher did not read ${measure}`);
  return reading.parse(text);
}
