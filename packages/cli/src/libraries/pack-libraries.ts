/**
 * `vouchbox libraries`: makes an archive of the packages named in a pip or npm lock file, and uploads the archive. A cell
 * unpacks it before it starts a program. Neither step runs code from a package.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { sha256Hex } from '@vouchbox/evidence';
import { blobBytesMax } from '@vouchbox/protocol/vocabulary';
import { checkRequirements, NPM_WORDS, plantLockfile, wheelWords } from '@vouchbox/server';
import { CommandFailure } from '../failures/command-failure.ts';
import { UsageError } from '../failures/usage-error.ts';
import { taken } from '../files/new-file.ts';
import { temporaryDirectory } from '../files/temporary-directory.ts';
import { type JsonOption, printResult } from '../terminal/print.ts';
import { writeArchive } from './archive.ts';

export interface PackLibrariesOptions extends JsonOption {
  /** A hashed `requirements.txt`. */
  readonly python?: string;
  /** The version of the interpreter in the cell; this host's by default. */
  readonly pythonVersion?: string;
  /** A `package-lock.json`. */
  readonly node?: string;
  /** A directory of packages that are already installed. */
  readonly directory?: string;
  readonly output: string;
}

/** Writes the archive and prints its digest. A run names the archive by this digest once the archive is uploaded. */
export async function packLibraries(options: PackLibrariesOptions): Promise<void> {
  const { output } = options;
  if (statSync(output, { throwIfNoEntry: false }) !== undefined) throw taken(output, '--output');
  const scratch = temporaryDirectory('vouchbox-libraries-');
  try {
    await writeArchive(installed(options, scratch), output);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const bytes = readFileSync(output);
  if (bytes.length > blobBytesMax) {
    rmSync(output);
    throw new CommandFailure(
      `the packed libraries have ${bytes.length} bytes; a service accepts at most ${blobBytesMax}`,
    );
  }
  const blob = `sha256:${sha256Hex(bytes)}`;
  printResult(options, `${blob}\n`, { blob, size_bytes: bytes.length, output });
}

/** The directory with the packages that the options name. */
function installed({ python, pythonVersion, node, directory }: PackLibrariesOptions, scratch: string): string {
  if ([python, node, directory].filter((given) => given !== undefined).length !== 1)
    throw new UsageError('give one of --python, --node and --directory');
  if (directory !== undefined) return directoryOfPackages(directory);
  return python === undefined ? nodeModules(node as string, scratch) : wheels(python, scratch, pythonVersion ?? null);
}

/** Returns the given directory, or refuses it if a program would not find the packages in it. */
function directoryOfPackages(directory: string): string {
  const names = readdirSync(directory);
  const packed = names.find((name) => /\.(whl|tgz|tar\.gz)$/.test(name));
  if (packed !== undefined)
    throw new UsageError(`${join(directory, packed)} is not installed: give --directory what pip or npm installed`);
  const inner = names.find((name) => ['node_modules', 'site-packages', 'dist-packages'].includes(name));
  if (inner === undefined) return directory;
  throw new UsageError(`the packages are one level down: give --directory ${join(directory, inner)}`);
}

function wheels(file: string, scratch: string, version: string | null): string {
  // The copy is named like the caller's file, because pip's messages show the name.
  const directory = join(scratch, 'requirements');
  mkdirSync(directory);
  checked(file, HASHED, (text) => writeFileSync(join(directory, basename(file)), checkRequirements(text)));
  const target = join(scratch, 'packages');
  run('python3', wheelWords(version, { target, file: `./${basename(file)}` }), directory);
  return target;
}

function nodeModules(file: string, scratch: string): string {
  const directory = join(scratch, 'npm');
  mkdirSync(directory);
  checked(file, LOCKED, (text) => plantLockfile(directory, text));
  run('npm', [...NPM_WORDS, '--no-bin-links'], directory);
  const modules = join(directory, 'node_modules');
  rmSync(join(modules, '.package-lock.json'), { force: true });
  return modules;
}

const HASHED = '`pip-compile --generate-hashes` writes such a file, and --node takes a package-lock.json';
const LOCKED = '`npm install --package-lock-only` writes such a file, and --python takes a requirements.txt';

function checked(file: string, hint: string, use: (text: string) => void): void {
  const text = textOf(file);
  try {
    use(text);
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}; ${hint}`, { cause: error });
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Runs pip or npm with the caller's own settings. The messages go to stderr. */
function run(program: string, words: readonly string[], cwd: string): void {
  const { status, signal, error } = spawnSync(program, words, { cwd, stdio: ['ignore', 2, 2] });
  if (error !== undefined) throw new CommandFailure(`${program} cannot be run: ${error.message}`, { cause: error });
  if (status !== 0) throw new CommandFailure(`${program} failed (${status ?? signal}); see its messages above`);
}
