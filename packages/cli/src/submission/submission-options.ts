/** Turns the options of `vouchbox run` into a submission. Misspelled options are refused here; the service checks the values. */
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import type { Interactor, JobSubmission, SubmittedFile } from '@vouchbox/protocol';
import {
  blobBytesMax,
  codeBytesMax,
  directoryOfPattern,
  type IsolationClass,
  LANGUAGES,
  type Language,
  LIMIT_NAMES,
  type LimitName,
  sizeText,
  stdinBytesMax,
} from '@vouchbox/protocol/vocabulary';
import { UsageError } from '../failures/usage-error.ts';
import { checkInputPath, checkOutputPath } from '../files/given-paths.ts';
import type { WantedOutput } from '../files/output-files.ts';
import { ownVariable } from '../service/environment.ts';
import { readStandardInput } from '../terminal/standard-input.ts';

/** The options of a submission, as commander collects them. */
export interface SubmissionOptions {
  readonly language?: string;
  /** The text itself, `@FILE`, or `-` for this process's stdin. */
  readonly stdin?: string;
  /** `input/NAME=PATH`, or only `PATH` if NAME is the last part of the path. `job:ID/PATH` is another job's output. */
  readonly file: readonly string[];
  /** Arguments for the program itself. */
  readonly args?: readonly string[];
  /** `NAME=VALUE`, or only `NAME` for this process's own value. */
  readonly env: readonly string[];
  /** `output/NAME` or `output/NAME=PATH`. `output/**` and `output/DIRECTORY/**` name all files below; PATH is a directory. */
  readonly output: readonly string[];
  /** `output/NAME`, or `output/NAME=PATH`, for a file that may be larger than those in the result. */
  readonly largeOutput?: readonly string[];
  /** The file for the whole standard output. */
  readonly wholeStdout?: string;
  /** `name=value`. */
  readonly limit: readonly string[];
  readonly runtime?: string;
  /** A file with a second program. The first program talks to it. */
  readonly interactor?: string;
  readonly minimumIsolation?: IsolationClass | undefined;
  /** Limits that the host must enforce. */
  readonly enforced?: readonly LimitName[] | undefined;
  /** Fixes the hash seeds. */
  readonly reproducible?: true;
  readonly label?: readonly string[];
  /** Puts the labels into the receipt. */
  readonly signLabels?: true;
}

/** The file name endings of programs, by language. */
const ENDINGS: Readonly<Record<Language, readonly string[]>> = {
  python: ['.py'],
  node: ['.js', '.mjs', '.cjs'],
  typescript: ['.ts', '.mts', '.cts'],
  bash: ['.sh', '.bash'],
  ruby: ['.rb'],
  php: ['.php'],
  lua: ['.lua'],
  r: ['.R', '.r'],
  java: ['.java'],
  c: ['.c'],
  cpp: ['.cc', '.cpp', '.cxx'],
};

/** The path in the job for the whole standard output. */
export const STDOUT_FILE = 'output/stdout';

/**
 * Reads the program and its files.
 * @throws UsageError if an option is misspelled or a file cannot be read
 */
export async function readSubmission(file: string, options: SubmissionOptions): Promise<JobSubmission> {
  const outputs = wantedOutputs(options.output);
  const large = wantedOutputs(options.largeOutput ?? []);
  const { args = [], wholeStdout, label: labels = [] } = options;
  checkTargets([
    ...outputs,
    ...large,
    ...(wholeStdout === undefined ? [] : [{ path: STDOUT_FILE, target: wholeStdout }]),
  ]);
  const language = options.language ?? languageOf(file);
  const code = decode(await readInput(file, codeBytesMax), file);
  const stdin = await readStdin(options.stdin);
  return {
    language,
    code,
    ...(stdin !== null && { stdin }),
    ...(args.length > 0 && { args: [...args] }),
    ...(options.env.length > 0 && { env: Object.fromEntries(options.env.map(variableOf)) }),
    ...(options.file.length > 0 && { files: await Promise.all(options.file.map(readInputFile)) }),
    ...(outputs.length > 0 && { outputs: outputs.map(({ path }) => path) }),
    ...(large.length + (wholeStdout === undefined ? 0 : 1) > 0 && {
      large_outputs: {
        ...(large.length > 0 && { paths: large.map(({ path }) => path) }),
        ...(wholeStdout !== undefined && { stdout: STDOUT_FILE }),
      },
    }),
    ...(options.runtime !== undefined && { runtime: options.runtime }),
    ...(options.limit.length > 0 && { limits: Object.fromEntries(options.limit.map(limitOf)) }),
    ...requirementsOf(options),
    ...(options.reproducible && { reproducible: true }),
    ...(labels.length > 0 && { labels: [...labels] }),
    ...(options.signLabels && { sign_labels: true }),
    ...(options.interactor !== undefined && { interactor: await readInteractor(options.interactor, options) }),
  };
}

/** The demands on the host; undefined if there are none. */
function requirementsOf({
  minimumIsolation,
  enforced,
}: Pick<SubmissionOptions, 'minimumIsolation' | 'enforced'>): Pick<JobSubmission, 'requirements'> {
  const requirements = {
    ...(minimumIsolation && { minimum_isolation: minimumIsolation }),
    ...(enforced !== undefined && enforced.length > 0 && { enforced: [...enforced] }),
  };
  return Object.keys(requirements).length === 0 ? {} : { requirements };
}

/** Reads the interactor. It gets the same limits and the same isolation as the program. */
async function readInteractor(
  file: string,
  { limit, minimumIsolation, enforced, reproducible }: SubmissionOptions,
): Promise<Interactor> {
  return {
    language: languageOf(file),
    code: decode(await readInput(file, codeBytesMax), file),
    ...(limit.length > 0 && { limits: Object.fromEntries(limit.map(limitOf)) }),
    ...requirementsOf({ minimumIsolation, enforced }),
    ...(reproducible && { reproducible }),
  };
}

/** Where each output goes: to the named file, or to the output's own path below the working directory. */
export function wantedOutputs(given: readonly string[]): readonly WantedOutput[] {
  return given.map((text) => {
    const [path, target] = halves(text);
    if (path === '') throw new UsageError(`${text} names no output: give output/NAME or output/NAME=FILE`);
    checkOutputPath(path, text);
    return { path, target: target ?? directoryOfPattern(path) ?? path };
  });
}

/** Refuses targets that cannot be written, before a program runs in vain. */
function checkTargets(wanted: readonly WantedOutput[]): void {
  for (const { path, target } of wanted) {
    if (target === '') throw new UsageError(`the file for ${path} has no name`);
    const isPattern = directoryOfPattern(path) !== null;
    if (!isPattern && (target.endsWith('/') || kindOf(target) === 'directory'))
      throw new UsageError(`${target} is a directory: name a file for ${path}`);
    // The nearest existing parent must be a directory, because missing directories are made in it.
    let parent = isPattern ? target : dirname(target);
    while (kindOf(parent) === null && parent !== dirname(parent)) parent = dirname(parent);
    if (kindOf(parent) === 'file') throw new UsageError(`${parent} is not a directory, so ${target} cannot be written`);
  }
}

function kindOf(path: string): 'directory' | 'file' | null {
  try {
    return statSync(path).isDirectory() ? 'directory' : 'file';
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new UsageError(`${path} cannot be written: ${message}`, { cause: error });
  }
}

function languageOf(file: string): Language {
  const language = LANGUAGES.find((one) => ENDINGS[one].includes(extname(file)));
  if (language !== undefined) return language;
  throw new UsageError(`${file}: its name does not say the language; give --language ${LANGUAGES.join('|')}`);
}

/** The two halves of `left=right`. The right one is null if there is no `=`. */
function halves(text: string): [left: string, right: string | null] {
  const at = text.indexOf('=');
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}

/** @param bytesMax the most bytes that the service takes of this input */
async function readInput(file: string, bytesMax: number): Promise<Buffer> {
  if (file === '-') return readStandardInput(bytesMax);
  const bytes = await readFile(file).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`, { cause: error });
  });
  if (bytes.byteLength <= bytesMax) return bytes;
  throw new UsageError(
    `${file} has ${bytes.byteLength} bytes, and at most ${sizeText(bytesMax)} can be given in this way`,
  );
}

async function readInputFile(text: string): Promise<SubmittedFile> {
  const [left, right] = halves(text);
  const path = right === null ? `input/${basename(left)}` : left;
  checkInputPath(path, text);
  const [, job_id, output] = OUTPUT_OF_JOB.exec(right ?? left) ?? [];
  if (job_id !== undefined && output !== undefined) return { path, from: { job_id, path: output } };
  const content = await readInput(right ?? left, blobBytesMax);
  return { path, content_base64: content.toString('base64') };
}

/** Another job's output. A file on this host with such a name must be given as `./job:…`. */
const OUTPUT_OF_JOB = /^job:([^/]+)\/(output\/.+)$/;

/** The program's stdin; null if there is none. Empty stdin counts as none, because many callers leave an empty pipe. */
async function readStdin(given: string | undefined): Promise<string | null> {
  if (given === undefined) return null;
  if (given === '-') return decode(await readStandardInput(stdinBytesMax), 'stdin') || null;
  if (!given.startsWith('@')) return given;
  return decode(await readInput(given.slice(1), stdinBytesMax), given.slice(1));
}

/** The text of a file. A submission is JSON, so text that is not UTF-8 could not arrive unchanged. */
function decode(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UsageError(`${file} is not UTF-8 text; give bytes with --file`, { cause: error });
  }
}

/** A variable given only by name has this process's value, so that secrets need not be on a command line. */
function variableOf(text: string): [string, string] {
  const [name, given] = halves(text);
  const value = given ?? ownVariable(name);
  if (name === '' || value === undefined)
    throw new UsageError(`--env ${text}: give NAME=VALUE, or NAME of a variable that is set`);
  return [name, value];
}

function limitOf(text: string): [LimitName, number] {
  const [left, right] = halves(text);
  const name = LIMIT_NAMES.find((candidate) => candidate === left);
  if (name === undefined) throw new UsageError(`--limit ${text}: the limits are ${LIMIT_NAMES.join(', ')}`);
  if (right === null || !/^\d+(\.\d+)?$/.test(right)) throw new UsageError(`--limit ${text}: give ${name}=NUMBER`);
  return [name, Number(right)];
}
