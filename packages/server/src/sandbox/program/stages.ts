/**
 * The stages in a cell of a compiled language. Usually one cell compiles the program and runs it. A build only compiles, and
 * hands its product over as an output; a job with a product only starts it, so its cell has no compiler that waits.
 */
import type { Language } from '@vouchbox/protocol';
import { isCompiled, PRODUCT_FILES } from '@vouchbox/protocol/vocabulary';
import type { Stage } from '../sandbox.ts';
import { LANGUAGE_RUNS, type LanguageRun } from './language-runs.ts';

/** The name of the product below `/work`, where a file can be executed. No file can be executed in the directory of inputs. */
export const PRODUCT = 'product';

interface Stages {
  /** The command that runs after the compiler and moves what the compiler made to the place of the product. */
  readonly handOver: readonly string[];
  readonly start: readonly string[];
}

const NATIVE: Stages = {
  handOver: ['/usr/bin/cp', '/tmp/main', `{work}/${PRODUCT_FILES.output}`],
  start: [`{work}/${PRODUCT}`],
};

/** The fixed time of an archive's entries: with real times, equal classes would give products with different digests. */
const NO_TIME = '--date=1980-01-01T00:00:02Z';
const JAVA: Stages = {
  handOver: [
    '/usr/lib/jvm/default-java/bin/jar',
    '-J-XX:+UseSerialGC',
    '-J-XX:-UsePerfData',
    '--create',
    NO_TIME,
    `--file={work}/${PRODUCT_FILES.output}`,
    '-C',
    '/tmp/classes',
    '.',
  ],
  start: LANGUAGE_RUNS.java.command.map((word) => (word === '/tmp/classes' ? `{work}/${PRODUCT}` : word)),
};

/** How a program of a language runs in a cell of this stage. @throws Error if the language is not compiled */
export function runOf({
  language,
  stage,
}: {
  readonly language: Language;
  readonly stage?: Stage | undefined;
}): LanguageRun {
  const run = LANGUAGE_RUNS[language];
  if (stage === undefined) return run;
  if (!isCompiled({ language })) throw new Error(`a program in ${language} is not compiled`);
  const { handOver, start } = language === 'java' ? JAVA : NATIVE;
  return stage === 'build' ? { ...run, command: handOver } : { ...run, command: start, compiler: null };
}
