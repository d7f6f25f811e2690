/**
 * Options that a build may pass to its compiler: dialects, optimisation, warnings, and defined names. None of them runs code,
 * reads a file, or makes a program that only some processors can run.
 */
import type { Language } from './languages.ts';

/** The two paths of a product: one as the output of a build, one as an input of a job that starts the product. */
export const PRODUCT_FILES = { output: 'output/product', input: 'input/product' } as const;

const NATIVE = [
  /^-O(?:[0-3]|s|fast)$/,
  /^-g[0-3]?$/,
  /^-std=(?:c|gnu)(?:\+\+)?[0-9][0-9a-z]$/,
  /^-D[A-Za-z_][A-Za-z0-9_]{0,63}(?:=[A-Za-z0-9_.+-]{0,64})?$/,
  /^-(?:w|pedantic|static)$/,
  // After a comma, an option could pass words to the linker, the assembler or the preprocessor.
  /^-W[a-z][a-z0-9+=-]{0,63}$/,
  /^-f(?:no-)?(?:exceptions|rtti|strict-aliasing|wrapv|trapv|signed-char|omit-frame-pointer|fast-math|unroll-loops|openmp)$/,
  /^-fconstexpr-(?:depth|ops-limit|loop-limit)=[0-9]{1,9}$/,
];
const JAVA = [
  /^-(?:g|nowarn|Werror|parameters)$/,
  /^-g:none$/,
  /^--release=[0-9]{1,2}$/,
  /^-Xlint(?::[a-z,-]{1,128})?$/,
];

/** The accepted options in words. */
export const BUILD_OPTIONS =
  'For C and C++: `-O0` to `-O3`, `-Os`, `-Ofast`, `-g`, `-g0` to `-g3`, `-std=c17` and its like, `-DNAME`, `-DNAME=VALUE`, `-w`, ' +
  '`-pedantic`, `-static`, `-Wall` and other warnings without a comma, `-fconstexpr-depth=N`, `-fconstexpr-ops-limit=N`, ' +
  '`-fconstexpr-loop-limit=N`, and with `-f` or `-fno-`: `exceptions`, `rtti`, `strict-aliasing`, `wrapv`, `trapv`, ' +
  '`signed-char`, `omit-frame-pointer`, `fast-math`, `unroll-loops`, `openmp`. For Java: `-g`, `-g:none`, `-nowarn`, ' +
  '`-Werror`, `-parameters`, `--release=N`, `-Xlint`, `-Xlint:all` and its like.';

const OPTIONS: Readonly<Partial<Record<Language, readonly RegExp[]>>> = { c: NATIVE, cpp: NATIVE, java: JAVA };

/** Whether programs in this language are compiled to a product that can be started later without the compiler. */
export function isCompiled({ language }: { readonly language: string }): boolean {
  return Object.hasOwn(OPTIONS, language);
}

/** Whether a build of this language may have the option. */
export function isBuildOption(language: Language, option: string): boolean {
  return OPTIONS[language]?.some((known) => known.test(option)) ?? false;
}
