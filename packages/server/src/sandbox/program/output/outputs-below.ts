/**
 * Lists the files that a program left below a directory, for outputs that are requested by a pattern. The walk goes down from an
 * open directory, one name at a time, and follows no link. The caller still checks that each entry is a file.
 */
import { closeSync, constants, opendirSync, openSync } from 'node:fs';
import { pathProblem, type Violation } from '@vouchbox/protocol';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** How many directories are held open at once. This bounds the depth of the walk. */
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
 * Lists the entries below an open directory. The directory stays open.
 * @param path the directory's own path: every path that is found begins with it
 */
export function outputsBelow(directory: number, path: string): Below {
  const walk = new Walk(`${path}/**`);
  walk.down(directory, { path, depth: 1, problem: null });
  const byBytes = walk.paths.map((found) => ({ found, bytes: Buffer.from(found) }));
  byBytes.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  return { paths: byBytes.map(({ found }) => found), violations: walk.violations() };
}

/** A directory in the walk. */
interface Place {
  readonly path: string;
  /** 1 for the directory of the pattern. */
  readonly depth: number;
  /** Why no file below the directory can be collected; null if files can be collected. */
  readonly problem: string | null;
}

/** Why a file of this name cannot be collected; null if it can. */
function nameProblem(name: Buffer, path: string): string | null {
  return name.equals(Buffer.from(name.toString())) ? pathProblem(path, 'output') : 'has a name that is not UTF-8';
}

class Walk {
  readonly paths: string[] = [];
  /** The first problem of each kind, and how many there are of this kind: a program could cause thousands. */
  readonly #problems = new Map<string, { readonly first: Violation; count: number }>();
  readonly #pattern: string;
  #entries = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  down(directory: number, place: Place): void {
    using entries = opendirSync(`/proc/self/fd/${directory}`, { encoding: 'buffer' as BufferEncoding });
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      if (++this.#entries > ENTRIES_MAX) {
        this.#problem('output_count', `only the first ${ENTRIES_MAX} entries`, 'were looked at', ENTRIES_MAX);
        return;
      }
      const name = entry.name as unknown as Buffer;
      const path = `${place.path}/${name.toString()}`;
      const found = { path, depth: place.depth + 1, problem: place.problem ?? nameProblem(name, path) };
      if (entry.isDirectory()) this.#into(Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]), found);
      else if (found.problem === null) this.paths.push(path);
      else this.#problem('output_path', shown(path), found.problem);
    }
  }

  #into(absolute: Buffer, place: Place): void {
    if (place.depth > DEPTH_MAX) {
      this.#problem('output_path', shown(place.path), `is more than ${DEPTH_MAX} directories deep`, DEPTH_MAX);
      return;
    }
    let next: number;
    try {
      next = openSync(absolute, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
    } catch (error) {
      this.#problem('output_path', shown(place.path), `cannot be opened (${(error as NodeJS.ErrnoException).code})`);
      return;
    }
    try {
      this.down(next, place);
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
    const found = {
      type,
      message: `${subject} ${problem}`,
      path: this.#pattern,
      ...(limit !== undefined && { limit }),
    };
    const { first, count } = this.#problems.get(problem) ?? { first: found, count: 0 };
    this.#problems.set(problem, { first: found.message < first.message ? found : first, count: count + 1 });
  }
}

/** An unchecked name in a form that is safe to print. */
function shown(path: string): string {
  const escaped = JSON.stringify(path).slice(1, -1);
  return escaped.length <= SHOWN_CHARS_MAX ? escaped : `${escaped.slice(0, SHOWN_CHARS_MAX)}...`;
}
