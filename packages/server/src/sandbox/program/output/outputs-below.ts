/**
 * Lists the files that a program left below a directory, for outputs that are requested by a pattern. The walk goes down from an
 * open directory, one name at a time, and follows no link. The caller still checks that each entry is a file.
 */
import { closeSync, constants, type Dirent, opendirSync, openSync } from 'node:fs';
import { pathProblem, type Violation } from '@vouchbox/protocol';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** Directories that are held open at once, which bounds the depth of the walk. */
const DEPTH_MAX = 32;
/** The most entries of a walk. A cell holds fewer, so this bounds only the walk for a development subprocess. */
const ENTRIES_MAX = 10_000;
const SHOWN_CHARS_MAX = 100;

/** All entries below the directory except directories, in the order of the paths' bytes, and the problems that were found. */
export interface Below {
  readonly paths: readonly string[];
  readonly violations: readonly Violation[];
}

/**
 * Lists the entries below an open directory, which stays open.
 * @param path the directory's own path, with which every path that is found starts
 */
export function outputsBelow(directory: number, path: string): Below {
  const walk = new Walk(`${path}/**`);
  walk.down(directory, path, 1);
  const byBytes = walk.paths.map((found) => ({ found, bytes: Buffer.from(found) }));
  byBytes.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  return { paths: byBytes.map(({ found }) => found), violations: walk.violations() };
}

class Walk {
  readonly paths: string[] = [];
  /** The first of each kind, and how many there are: a program could cause thousands. */
  readonly #problems = new Map<string, { readonly first: Violation; count: number }>();
  readonly #pattern: string;
  #entries = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  down(directory: number, path: string, depth: number): void {
    using entries = opendirSync(`/proc/self/fd/${directory}`, { encoding: 'buffer' as BufferEncoding });
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      if (++this.#entries > ENTRIES_MAX) {
        this.#problem('output_count', `only the first ${ENTRIES_MAX} entries`, 'were looked at', ENTRIES_MAX);
        return;
      }
      this.#take(entry as unknown as Dirent<Buffer>, { directory, path, depth });
    }
  }

  #take(entry: Dirent<Buffer>, { directory, path, depth }: { directory: number; path: string; depth: number }): void {
    const name = entry.name.toString();
    const found = `${path}/${name}`;
    const problem = entry.name.equals(Buffer.from(name))
      ? pathProblem(found, 'output')
      : 'has a name that is not UTF-8';
    if (problem !== null) this.#problem('output_path', shown(found), problem);
    else if (!entry.isDirectory()) this.paths.push(found);
    else if (depth === DEPTH_MAX) {
      this.#problem('output_path', shown(found), `is more than ${DEPTH_MAX} directories deep`, DEPTH_MAX);
    } else this.#into(`/proc/self/fd/${directory}/${name}`, found, depth);
  }

  #into(absolute: string, path: string, depth: number): void {
    let next: number;
    try {
      next = openSync(absolute, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
    } catch (error) {
      this.#problem('output_path', shown(path), `cannot be opened (${(error as NodeJS.ErrnoException).code})`);
      return;
    }
    try {
      this.down(next, path, depth + 1);
    } finally {
      closeSync(next);
    }
  }

  violations(): Violation[] {
    return [...this.#problems.values()].map(({ first, count }) =>
      count === 1 || first.type === 'output_count'
        ? first
        : { ...first, message: `${first.message}, and ${count - 1} more like it did not come back` },
    );
  }

  #problem(type: 'output_path' | 'output_count', subject: string, problem: string, limit?: number): void {
    const known = this.#problems.get(problem);
    if (known !== undefined) known.count += 1;
    else {
      const message = `${subject} ${problem}`;
      const first = { type, message, path: this.#pattern, ...(limit !== undefined && { limit }) };
      this.#problems.set(problem, { first, count: 1 });
    }
  }
}

/** An unchecked name in a form that is safe to print. */
function shown(path: string): string {
  const escaped = JSON.stringify(path).slice(1, -1);
  return escaped.length <= SHOWN_CHARS_MAX ? escaped : `${escaped.slice(0, SHOWN_CHARS_MAX)}...`;
}
