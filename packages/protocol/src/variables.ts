/**
 * Which environment variables a job may set. None of them could weaken its cell, since a program may start another one
 * with any environment. Refused are those whose value would have no effect, or would make the program differ from what
 * the receipt describes. Spec § Job submission, an addition.
 */

/** Part of every cell: the same for all programs. */
const FIXED = ['PATH', 'HOME', 'LANG', 'USER', 'LOGNAME', 'SHELL', 'PWD', 'TMPDIR', 'MPLCONFIGDIR'];
/** Read when an interpreter starts, before there is a job. */
const OF_INTERPRETERS = ['BASH_ENV', 'BASHOPTS', 'SHELLOPTS'];
/** `LD_` decides what is loaded before a program; the others belong to interpreters. */
const PREFIXES = ['LD_', 'PYTHON', 'NODE_', 'BASH_FUNC_'];

/** What is wrong with a variable's name, as words that follow it in a sentence; null if a job may set it. */
export function variableProblem(name: string): string | null {
  if (FIXED.includes(name)) return 'is the same in every cell and cannot be set';
  if (OF_INTERPRETERS.includes(name) || PREFIXES.some((prefix) => name.startsWith(prefix)))
    return 'is read by a loader or an interpreter at its start and cannot be set';
  return null;
}
