/**
 * Which environment variables a job may set. No variable can weaken the cell, since any program can start other programs with any
 * environment. Two kinds are refused: variables that would have no effect, since the interpreter may have started before the job,
 * and variables that would make the program differ from what the receipt says. Spec § Job submission, an addition.
 */

/** Variables that are the same in every cell. */
const FIXED = ['PATH', 'HOME', 'LANG', 'USER', 'LOGNAME', 'SHELL', 'PWD', 'TMPDIR', 'MPLCONFIGDIR'];

/** Variables that a loader, a library or an interpreter reads at its start; `NAME*` stands for all names with that beginning. */
const READ_AT_START = [
  ...['LD_*', 'GLIBC_TUNABLES', 'MALLOC_*', 'GCONV_PATH', 'LOCPATH', 'NLSPATH', 'OPENSSL_*'],
  ...['BASH_ENV', 'BASHOPTS', 'SHELLOPTS', 'BASH_FUNC_*', 'ENV', 'POSIXLY_CORRECT'],
  ...['PYTHON*', 'NODE_*', 'PERL*', 'RUBY*', 'GEM_*', 'BUNDLE_*', 'LUA_*', 'PHPRC', 'PHP_INI_SCAN_DIR'],
  ...['R_*', 'JAVA_TOOL_OPTIONS', 'JDK_JAVA_OPTIONS', '_JAVA_OPTIONS', 'CLASSPATH'],
];

/** Every name that a job may not set. A `*` at the end stands for any further characters. */
export const REFUSED_VARIABLES: readonly string[] = [...FIXED, ...READ_AT_START];

/** What is wrong with a variable's name, as words that follow the name in a sentence; null if a job may set it. */
export function variableProblem(name: string): string | null {
  if (FIXED.includes(name)) return 'is the same in every cell and cannot be set';
  if (READ_AT_START.some((refused) => isMeant(name, refused)))
    return 'is read by a loader or an interpreter at its start and cannot be set';
  return null;
}

function isMeant(name: string, refused: string): boolean {
  return refused.endsWith('*') ? name.startsWith(refused.slice(0, -1)) : name === refused;
}
