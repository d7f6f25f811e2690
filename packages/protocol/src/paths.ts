/**
 * The rule for paths in a submission: a path is relative, is under the directory for its kind, and has no part that could lead to
 * another file. The rule does not look at any file system. Spec § Job submission.
 */
import { pathBytesMax, pathComponentBytesMax } from './limits.ts';

/** The purpose of a path. It is also the name of the directory under which the path must be. */
export type PathKind = 'input' | 'output';

/** What is wrong with one path, as words that follow the path in a sentence; null if nothing is. */
export function pathProblem(path: string, kind: PathKind): string | null {
  if (!path.isWellFormed()) return 'holds a lone surrogate, which has no UTF-8 form';
  if (/\p{Cc}/u.test(path)) return 'holds a control character';
  if (path.includes('\\')) return 'holds a backslash';
  if (path.startsWith('/')) return 'is absolute';
  if (!path.startsWith(`${kind}/`)) return `is not under ${kind}/`;
  if (utf8Bytes(path) > pathBytesMax) return `is longer than ${pathBytesMax} bytes`;
  return componentsProblem(path.split('/'));
}

/** Stands for every regular file below a directory, as in `output/**` and `output/plots/**`. */
const EVERYTHING_BELOW = '/**';

/** The directory whose files an entry of `outputs` asks for; null if the entry names one file. */
export function directoryOfPattern(output: string): string | null {
  return output.endsWith(EVERYTHING_BELOW) ? output.slice(0, -EVERYTHING_BELOW.length) : null;
}

/** What is wrong with one entry of `outputs`, a path or a pattern; null if nothing is. */
export function outputProblem(output: string): string | null {
  const directory = directoryOfPattern(output) ?? output;
  if (directory.split('/').includes('**'))
    return 'has ** before its end: only output/** and output/DIRECTORY/** are patterns';
  // The directory of all outputs is not an output itself, so the rule for paths would refuse it.
  return output === `output${EVERYTHING_BELOW}` ? null : pathProblem(directory, 'output');
}

/** The first path in a list that is wrong by itself or collides with an earlier path. */
export interface ListedPathProblem {
  readonly index: number;
  readonly problem: string;
}

/**
 * Checks each path in a list by itself. Also checks that no two paths name the same file and no path names the directory of
 * another. Paths are compared by their bytes: the file systems of a cell fold neither case nor Unicode.
 */
export function pathsProblem(paths: readonly string[], kind: PathKind): ListedPathProblem | null {
  const earlier: string[] = [];
  for (const [index, path] of paths.entries()) {
    const problem = pathProblem(path, kind) ?? collisionProblem(path, earlier);
    if (problem !== null) return { index, problem };
    earlier.push(path);
  }
  return null;
}

/**
 * Checks the entries of `outputs`: files with `pathsProblem`, and each pattern by itself. A pattern may cover a
 * named file or another pattern, since each file is brought back once. The same pattern twice is refused.
 */
export function outputsProblem(outputs: readonly string[]): ListedPathProblem | null {
  const files: string[] = [];
  const patterns = new Set<string>();
  for (const [index, output] of outputs.entries()) {
    const isPattern = directoryOfPattern(output) !== null;
    const collision = isPattern ? repeatedProblem(output, patterns) : collisionProblem(output, files);
    const problem = outputProblem(output) ?? collision;
    if (problem !== null) return { index, problem };
    if (isPattern) patterns.add(output);
    else files.push(output);
  }
  return null;
}

function repeatedProblem(pattern: string, earlier: ReadonlySet<string>): string | null {
  return earlier.has(pattern) ? 'is the same pattern as an earlier one' : null;
}

function componentsProblem(components: readonly string[]): string | null {
  if (components.includes('')) return 'has an empty component';
  if (components.includes('.') || components.includes('..')) return 'has a component . or ..';
  if (components.some((component) => utf8Bytes(component) > pathComponentBytesMax)) {
    return `has a component longer than ${pathComponentBytesMax} bytes`;
  }
  return null;
}

function collisionProblem(path: string, earlier: readonly string[]): string | null {
  for (const other of earlier) {
    if (path === other) return 'names the same file as an earlier one';
    if (path.startsWith(`${other}/`)) return 'is inside an earlier one, which is a file';
    if (other.startsWith(`${path}/`)) return 'is the directory of an earlier one';
  }
  return null;
}

function utf8Bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
