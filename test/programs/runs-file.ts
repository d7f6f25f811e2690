/**
 * The result of each run, one JSON object a line, written at once: an interrupted trial resumes where it was. The last
 * line of a program and a place counts.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { PlaceName } from './compare.ts';
import type { Run } from './program.ts';

interface Line extends Run {
  readonly program: string;
  readonly place: PlaceName;
}

export interface RunsFile {
  find(program: string, place: PlaceName): Run | undefined;
  add(program: string, place: PlaceName, run: Run): void;
}

/** Opens the file at `path`, or keeps the runs in memory alone if there is none. Throws if a line is not JSON. */
export function openRunsFile(path: string | undefined): RunsFile {
  const runs = new Map<string, Run>();
  const keyOf = (program: string, place: PlaceName) => `${place} ${program}`;
  const written = path !== undefined && existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  for (const line of written.filter((text) => text !== '')) {
    const { program, place, ...run } = JSON.parse(line) as Line;
    runs.set(keyOf(program, place), run);
  }
  return {
    find: (program, place) => runs.get(keyOf(program, place)),
    add(program, place, run) {
      runs.set(keyOf(program, place), run);
      if (path !== undefined) appendFileSync(path, `${JSON.stringify({ program, place, ...run } satisfies Line)}\n`);
    },
  };
}
