/**
 * Installs a recipe's locked packages into the tree that was built from Debian packages: wheels by this host's pip, npm's
 * packages by this host's npm. Neither runs code of a package. They fill a fresh directory, which is then moved into the tree, so
 * that no link in the tree can lead them elsewhere.
 */
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';
import { PackError } from '../pack-error.ts';
import { checkLockfile, NODE_MODULES } from './locked-packages.ts';
import type { Recipe } from './recipe.ts';

const INSTALL_MILLISECONDS_MAX = 15 * 60 * 1000;
/** The newest C library whose wheels are accepted; pip takes the newest wheel that fits. Debian 12 has 2.36. */
const GLIBC_MINOR_MAX = 36;
const GLIBC_MINOR_MIN = 5;
/** Older names of platforms, keyed by the minor version of the C library that each name stands for. PEP 600. */
const OLDER_NAMES: Readonly<Record<number, string>> = { 17: 'manylinux2014', 12: 'manylinux2010', 5: 'manylinux1' };
/** The words that limit npm's retries. npm also tries again if a digest is wrong, by default for over a minute. */
const NPM_RETRIES = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=4000'];
const MACHINE = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as string] ?? process.arch;

export interface InstallOptions {
  readonly recipe: Pick<Recipe, 'locked'>;
  readonly tree: string;
  /** An empty directory for files of the build. */
  readonly work: string;
  readonly proxies: Readonly<Record<string, string>>;
  readonly onLine: (line: string) => void;
}

/** @throws PackError if a package cannot be fetched exactly as it is locked */
export async function installLocked(options: InstallOptions): Promise<void> {
  const { requirements, npm_lockfile } = options.recipe.locked ?? {};
  if (requirements !== undefined) await installWheels(requirements, options);
  if (npm_lockfile !== undefined) await installNodeModules(npm_lockfile, options);
}

async function installWheels(requirements: string, options: InstallOptions): Promise<void> {
  const { tree, work } = options;
  const version = pythonIn(tree);
  const file = join(work, 'requirements.txt');
  const target = join(work, 'wheels');
  writeFileSync(file, requirements);
  try {
    await run('/usr/bin/python3', wheelWords(version, { target, file }), options);
  } catch (cause) {
    if (!(cause instanceof PackError) || !cause.message.includes('No matching distribution')) throw cause;
    const taken = `only wheels of Python ${version} for glibc up to 2.${GLIBC_MINOR_MAX} on ${MACHINE} are taken`;
    throw new PackError(cause.message, { cause, hint: `${taken}: no musllinux wheels and no source archives` });
  }
  moveInto(tree, `usr/local/lib/python${version}/dist-packages`, target);
}

/** The arguments with which Python installs locked wheels without running them. `version` null: Python's own version. */
export function wheelWords(
  version: string | null,
  { target, file }: { readonly target: string; readonly file: string },
): readonly string[] {
  const words = ['-m', 'pip', 'install', '--require-hashes', '--only-binary=:all:', '--no-compile'];
  const fitting = platformsOf(MACHINE).map((name) => `--platform=${name}`);
  const python = version === null ? [] : [`--python-version=${version}`];
  return [...words, ...python, ...fitting, `--target=${target}`, `--requirement=${file}`];
}

/** The platforms whose wheels fit, best first. pip prefers them in this order. */
function platformsOf(machine: string): string[] {
  const names = ['linux'];
  for (let minor = GLIBC_MINOR_MAX; minor >= GLIBC_MINOR_MIN; minor--) {
    const older = OLDER_NAMES[minor];
    names.push(`manylinux_2_${minor}`, ...(older === undefined ? [] : [older]));
  }
  return names.map((name) => `${name}_${machine}`);
}

/** The version of the tree's Python, such as 3.11. */
function pythonIn(tree: string): string {
  const versions = readdirSync(join(tree, 'usr/bin')).flatMap((name) => /^python(3\.\d+)$/.exec(name)?.[1] ?? []);
  if (versions.length === 1) return versions[0] as string;
  throw new PackError(`requirements need one Python in the pack, not ${versions.length}`, {
    hint: 'name python among the languages of the recipe',
  });
}

async function installNodeModules(text: string, options: InstallOptions): Promise<void> {
  const { tree, work } = options;
  const directory = join(work, 'npm');
  mkdirSync(directory);
  plantLockfile(directory, text);
  await run('/usr/bin/npm', [...NPM_WORDS, `--cache=${join(work, 'npm-cache')}`], { ...options, work: directory });
  rmSync(join(directory, 'node_modules/.package-lock.json'), { force: true });
  moveInto(tree, NODE_MODULES, join(directory, 'node_modules'));
}

/** The words with which npm installs locked packages without running them. */
export const NPM_WORDS = ['ci', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', ...NPM_RETRIES] as const;

/** Writes the two files that npm needs in a project. @throws PackError in the same cases as `checkLockfile` */
export function plantLockfile(directory: string, text: string): void {
  const root = checkLockfile(text).packages[''] ?? {};
  writeFileSync(join(directory, 'package-lock.json'), text);
  writeFileSync(join(directory, 'package.json'), JSON.stringify(root));
}

/** Moves a directory to a path of the tree that does not exist or is an empty directory. Each parent must be a real directory. */
function moveInto(tree: string, path: string, from: string): void {
  const names = path.split('/');
  for (let depth = 1; depth < names.length; depth++) {
    const parent = join(tree, ...names.slice(0, depth));
    const found = lstatSync(parent, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(parent, { mode: 0o755 });
    else if (!found.isDirectory()) throw new PackError(`/${path} leads through something that is not a directory`);
  }
  const to = join(tree, path);
  try {
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) rmdirSync(to);
  } catch (cause) {
    throw new PackError(`/${path} is not empty: a Debian package has files there`, { cause });
  }
  renameSync(from, to);
}

/** The home of this user. An empty or relative HOME would lead to the build's own files. */
function ownHome(): string {
  return isAbsolute(homedir()) ? homedir() : userInfo().homedir;
}

/** Runs pip or npm with the caller's own settings for them, from the caller's home directory. */
async function run(
  program: string,
  words: readonly string[],
  { work, proxies, onLine }: InstallOptions,
): Promise<void> {
  if (!existsSync(program)) throw new PackError(`${program} is not installed`);
  const child = spawn('/usr/bin/setpriv', ['--pdeathsig=KILL', program, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: ownHome(), TMPDIR: work, ...proxies },
    cwd: work,
    timeout: INSTALL_MILLISECONDS_MAX,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const last: string[] = [];
  const read = async (stream: NodeJS.ReadableStream) => {
    for await (const line of createInterface(stream)) {
      last.push(line);
      onLine(line);
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  const code = await ended;
  if (code !== 0) throw new PackError(`${program} failed (${code}): ${last.slice(-6).join(' | ')}`);
}
