/**
 * The result of each run, one JSON object per line. Each result is written at once, so that an interrupted trial can resume. If a
 * program has several lines for a place, the last line counts.
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

/** Opens the file at `path`. Without a path, keeps the runs only in memory. Throws if a line is not JSON. */
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
