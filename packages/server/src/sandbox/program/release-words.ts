/**
 * The message that releases the program of a waiting interpreter. It arrives on descriptor 3, which then ends:
 *
 *   `HEAP_MB ARGUMENTS\n`   the JavaScript or Java heap in MiB, and how many of the words are arguments
 *   `WORD\0` ...            the arguments in their order, then the variables as `NAME=VALUE`
 *
 * Every guest program in `cell/guest` reads this form.
 */
import type { Program } from '../sandbox.ts';

/** What the words of a program depend on. */
export type Released = Pick<Program, 'args' | 'env' | 'language' | 'large'>;

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
 * The words of a program. If all of standard output comes back as one large output, an empty variable gives a buffer to Python,
 * and to each Python that it starts: without it, two system calls for each print would take most of the time in gVisor.
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
