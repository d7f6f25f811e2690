/**
 * Turns another system's program into a submission. In that system, the program's working directory has the other files, and the
 * program writes its own files there. In a cell, a program reads from `input/` and leaves results in `output/`. So a short
 * program of ours copies `input/` into `output/` and runs the caller's program there.
 */
import type { JobSubmission } from '@vouchbox/protocol';
import type { Language } from '@vouchbox/protocol/vocabulary';
import { unsupported } from './adapter-error.ts';

type Limits = NonNullable<JobSubmission['limits']>;

export interface NamedFile {
  readonly path: string;
  readonly content_base64: string;
}

export interface Program {
  readonly language: Language;
  readonly code: string;
  /** The other system's name for the file with the code. The name matters only if there are other files. */
  readonly name: string;
  readonly stdin?: string | undefined;
  readonly args: readonly string[];
  readonly besides: readonly NamedFile[];
  /** The files to return, as paths in the working directory. */
  readonly wanted: readonly string[];
  readonly limits: Limits;
  /** The options and limits of the compiler, if the language has one. */
  readonly compiler: { readonly options: readonly string[]; readonly limits: Limits };
}

const JAVASCRIPT = (main: string) => `
const fs = process.getBuiltinModule('fs'), path = process.getBuiltinModule('path');
fs.cpSync('input', 'output', { recursive: true });
process.chdir('output');
process.argv[1] = path.resolve(${JSON.stringify(main)});
import(process.getBuiltinModule('url').pathToFileURL(process.argv[1]).href);
`;

/** Programs that copy `input/` into `output/`, and run the named file there as if it had been started directly. */
const RUNNERS: Readonly<Record<string, (main: string) => string>> = {
  python: (main) => `
import os, runpy, shutil, sys
shutil.copytree('input', 'output', dirs_exist_ok=True)
os.chdir('output')
sys.path[0] = os.getcwd()
sys.argv[0] = ${JSON.stringify(main)}
runpy.run_path(sys.argv[0], run_name='__main__')
`,
  node: JAVASCRIPT,
  typescript: JAVASCRIPT,
  bash: (main) => `cp -r input/. output/ && cd output && exec bash ${quoted(main)} "$@"\n`,
};

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** @throws AdapterError if a program in this language cannot run together with other files */
export function submissionOf(program: Program): JobSubmission {
  const { language, code, name, stdin, args, besides, wanted, limits } = program;
  const common = { language, args: [...args], limits, outputs: [], ...(stdin !== undefined && { stdin }) };
  if (besides.length === 0 && wanted.length === 0) return { ...common, code };
  const runner = RUNNERS[language];
  if (runner === undefined) {
    throw unsupported('files', `a program in ${language} can neither have other files here nor return any`);
  }
  const main = { path: name, content_base64: Buffer.from(code).toString('base64') };
  return {
    ...common,
    code: runner(name),
    files: [main, ...besides].map(({ path, content_base64 }) => ({ path: `input/${path}`, content_base64 })),
    outputs: wanted.map((path) => `output/${path}`),
  };
}
