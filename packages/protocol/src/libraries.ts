/** A job's own libraries: an archive that the cell unpacks before the program starts. */
import type { Language } from './languages.ts';
import type { StoredSpec } from './submission.ts';

/** The path of the library archive among the inputs. No submission can place a file there. */
export const LIBRARIES_FILE = 'input/.libraries.tar.gz';

/** The languages whose interpreters look for modules in a directory of packages. */
const LANGUAGES_WITH_LIBRARIES: readonly Language[] = ['python', 'node', 'typescript'];

export function takesLibraries(language: Language): boolean {
  return LANGUAGES_WITH_LIBRARIES.includes(language);
}

export function hasLibraries({ files = [] }: Pick<StoredSpec, 'files'>): boolean {
  return files.some(({ path }) => path === LIBRARIES_FILE);
}
