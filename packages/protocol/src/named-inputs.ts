/** The bytes that a program is given by their names: files, and standard input that is not in the submission. */
import type { StoredFile, StoredSpec } from './submission.ts';

/** The name of standard input in a list with files, which are all under `input/`. */
export const STDIN = 'stdin';

/** Every input file of a program. Named standard input counts as an input file, too. */
export function inputsOf({
  files = [],
  named_stdin,
}: Pick<StoredSpec, 'files' | 'named_stdin'>): readonly StoredFile[] {
  return named_stdin === undefined ? files : [...files, { path: STDIN, ...named_stdin }];
}
