/** A program's inputs that have names: files, and standard input that is not in the submission itself. */
import type { StoredFile, StoredSpec } from './submission.ts';

/** The name of standard input in a list of inputs. All files in such a list are under `input/`. */
export const STDIN = 'stdin';

/** Every input file of a program. Named standard input also counts as an input file. */
export function inputsOf({
  files = [],
  named_stdin,
}: Pick<StoredSpec, 'files' | 'named_stdin'>): readonly StoredFile[] {
  return named_stdin === undefined ? files : [...files, { path: STDIN, ...named_stdin }];
}
