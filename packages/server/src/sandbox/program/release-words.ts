/**
 * The message that releases the program of a waiting interpreter. It arrives on descriptor 3, which then ends:
 *
 *   `HEAP_MB ARGUMENTS\n`   the JavaScript or Java heap in MiB, and how many of the words are arguments
 *   `WORD\0` ...            the arguments in their order, then the variables as `NAME=VALUE`
 *
 * Every guest program in `cell/guest` reads this form.
 */
import type { Program } from '../sandbox.ts';

type Released = Pick<Program, 'args' | 'env' | 'language' | 'large'>;

/** The words alone, as bytes, and how many of them are arguments. */
export interface ReleaseWords {
  readonly argumentCount: number;
  readonly bytes: Buffer;
}

/** The words that a compiler gets in addition to its command: a message of the same form, without variables. */
export function compilerWords({ compilerOptions = [] }: Pick<Program, 'compilerOptions'>) {
  return { count: compilerOptions.length, bytes: textOf(compilerOptions) };
}

/**
 * The words of a program. Python keeps its output in a buffer if all of standard output is to come back as one large output: a
 * system call for each line would take most of the program's time in gVisor. An empty variable switches the buffer on, for the
 * program and for each Python that it starts.
 */
export function releaseWords({ args, env, language, large }: Released): ReleaseWords {
  const isKept = language === 'python' && (large?.stdout ?? null) !== null;
  const variables = isKept ? { ...env, PYTHONUNBUFFERED: '' } : env;
  const words = [...args, ...Object.entries(variables).map(([name, value]) => `${name}=${value}`)];
  return { argumentCount: args.length, bytes: textOf(words) };
}

function textOf(words: readonly string[]): Buffer {
  return Buffer.from(words.map((word) => `${word}\0`).join(''));
}
