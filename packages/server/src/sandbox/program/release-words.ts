/**
 * The message that releases the program of a waiting interpreter. It arrives on descriptor 3, which then ends:
 *
 *   `HEAP_MB ARGUMENTS\n`   the JavaScript or Java heap in MiB, and how many of the words are arguments
 *   `WORD\0` ...            the arguments in their order, then the variables as `NAME=VALUE`
 *
 * Every guest program in `cell/guest` reads this form.
 */
import type { Program } from '../sandbox.ts';

/** The words alone, as bytes, and how many of them are arguments. */
export interface ReleaseWords {
  readonly argumentCount: number;
  readonly bytes: Buffer;
}

/** The words that a compiler gets in addition to its command: a message of the same form, without variables. */
export function compilerWords({ compilerOptions = [] }: Pick<Program, 'compilerOptions'>) {
  return { count: compilerOptions.length, bytes: textOf(compilerOptions) };
}

export function releaseWords({ args, env }: Pick<Program, 'args' | 'env'>): ReleaseWords {
  const words = [...args, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  return { argumentCount: args.length, bytes: textOf(words) };
}

function textOf(words: readonly string[]): Buffer {
  return Buffer.from(words.map((word) => `${word}\0`).join(''));
}
