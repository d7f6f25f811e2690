/** Libraries of a job's own: an archive that its cell unpacks before the program. */
import type { Language } from './languages.ts';
import type { StoredSpec } from './submission.ts';

/** The path of the archive of libraries among the inputs, where no submission can place a file. */
export const LIBRARIES_FILE = 'input/.libraries.tar.gz';

/** The languages whose interpreters look for modules in a directory of packages. */
const LANGUAGES_WITH_LIBRARIES: readonly Language[] = ['python', 'node', 'typescript'];

export function takesLibraries(language: Language): boolean {
  return LANGUAGES_WITH_LIBRARIES.includes(language);
}

export function hasLibraries({ files = [] }: Pick<StoredSpec, 'files'>): boolean {
  return files.some(({ path }) => path === LIBRARIES_FILE);
}
