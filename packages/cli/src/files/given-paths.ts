/** Checks the paths of `--output` and `--file` before anything is started, and suggests what was probably meant. */
import { outputProblem, pathProblem } from '@vouchbox/protocol/vocabulary';
import { UsageError } from '../failures/usage-error.ts';
import { shellWord } from '../terminal/shell-word.ts';

/** @throws UsageError if no output can have this path */
export function checkOutputPath(path: string, given: string): void {
  const problem = problemOfOutput(path);
  if (problem === null) return;
  const target = given.slice(path.length);
  const meant = [`${withoutStars(path)}/**`, `output/${path}`, `output/${withoutStars(path)}/**`];
  throw wrong('--output', { given, problem, meant: meant.find((each) => problemOfOutput(each) === null), target });
}

/** For the service, a star is a part of a name, but a person who types a star means a pattern. */
function problemOfOutput(path: string): string | null {
  if (path.replace(/\/\*\*$/, '').includes('*')) {
    return 'has a * outside of a pattern: only output/** and output/DIRECTORY/** are patterns';
  }
  return outputProblem(path);
}

/** @throws UsageError if no input file can have this path */
export function checkInputPath(path: string, given: string): void {
  const problem = pathProblem(path, 'input');
  if (problem === null) return;
  const meant = pathProblem(`input/${path}`, 'input') === null ? `input/${path}` : undefined;
  throw wrong('--file', { given, problem, meant, target: given.slice(path.length) });
}

/** The path without `/` and `*` at its end: `output/*`, `output/` and `output` all mean everything in that directory. */
function withoutStars(path: string): string {
  return path.replace(/\/*\**$/, '');
}

interface Wrong {
  readonly given: string;
  readonly problem: string;
  readonly meant: string | undefined;
  /** The rest of the argument, from the `=` on. */
  readonly target: string;
}

function wrong(flag: string, { given, problem, meant, target }: Wrong): UsageError {
  const advice = meant === undefined ? '' : `; try ${flag} ${shellWord(`${meant}${target}`)}`;
  return new UsageError(`${flag} ${given} ${problem}${advice}`);
}
