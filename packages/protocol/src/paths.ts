/**
 * The rule for paths in a submission: relative, under the directory of their kind, and without any part that could lead to
 * another file. The rule looks at no file system. Spec § Job submission.
 */
import { pathBytesMax, pathComponentBytesMax } from './limits.ts';

/** The purpose of a path, and the name of the directory that the path must be under. */
export type PathKind = 'input' | 'output';

/** The fault in one path, as words that follow its name in a sentence; null if there is none. */
export function pathProblem(path: string, kind: PathKind): string | null {
  if (!path.isWellFormed()) return 'holds a lone surrogate, which has no UTF-8 form';
  if (/\p{Cc}/u.test(path)) return 'holds a control character';
  if (path.includes('\\')) return 'holds a backslash';
  if (path.startsWith('/')) return 'is absolute';
  if (!path.startsWith(`${kind}/`)) return `is not under ${kind}/`;
  if (utf8Bytes(path) > pathBytesMax) return `is longer than ${pathBytesMax} bytes`;
  return componentsProblem(path.split('/'));
}

/** Every regular file below the directory, as in `output/**` and `output/plots/**`. */
const EVERYTHING_BELOW = '/**';

/** The directory whose files an entry of `outputs` asks for; null if the entry names one file. */
export function directoryOfPattern(output: string): string | null {
  return output.endsWith(EVERYTHING_BELOW) ? output.slice(0, -EVERYTHING_BELOW.length) : null;
}

/** The fault in one entry of `outputs`, which is a path or a pattern; null if there is none. */
export function outputProblem(output: string): string | null {
  const directory = directoryOfPattern(output) ?? output;
  if (directory.split('/').includes('**'))
    return 'has ** before its end: only output/** and output/DIRECTORY/** are patterns';
  // The directory of all outputs is not an output, so the rule for paths would refuse it.
  return output === `output${EVERYTHING_BELOW}` ? null : pathProblem(directory, 'output');
}

/** The first path of a list that is wrong by itself or collides with an earlier one. */
export interface ListedPathProblem {
  readonly index: number;
  readonly problem: string;
}

/**
 * Checks each path of a list by itself, that no two paths name the same file, and that no path names the directory of
 * another path. Paths are compared by their bytes: the file systems of a cell fold neither case nor Unicode.
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
 * Checks the entries of `outputs`: files as `pathsProblem` does, and patterns by themselves. A pattern may cover a
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
