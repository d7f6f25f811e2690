/** The commands that tell a launcher what to do with a cell's groups. `groups.c` reads them. */
import type { GroupFile, Measure, Reading, Writing } from '../../kernel/cgroup/cgroup.ts';

export function readingWord({ directory, file }: GroupFile): string {
  return `${directory}/${file}`;
}

export function writingWord({ directory, file, value }: Writing): string {
  return `${directory}/${file}=${value}`;
}

/** A number that a launcher has read. Throws if the launcher did not read it. */
export function measured(sections: ReadonlyMap<string, string>, reading: Reading, measure: Measure): number {
  const text = sections.get(readingWord(reading));
  if (text === undefined) throw new Error(`the launcher did not read ${measure}`);
  return reading.parse(text);
}
