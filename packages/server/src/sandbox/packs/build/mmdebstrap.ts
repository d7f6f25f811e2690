/**
 * Runs `mmdebstrap`, which unpacks and configures Debian packages below a directory. It runs as root in its own mount and process
 * namespaces: its mounts and processes end with it, however it ends, and removing the directory cannot reach a file of the host.
 */
import { execFile, spawn } from 'node:child_process';
import { accessSync, constants, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { LANGUAGE_RUNS } from '../../program/language-runs.ts';
import { PackError } from '../pack-error.ts';
import { type AptSources, readAptSources } from './apt-sources.ts';
import type { Recipe } from './recipe.ts';

const run = promisify(execFile);
const MMDEBSTRAP = '/usr/bin/mmdebstrap';
const BUILD_MILLISECONDS_MAX = 30 * 60 * 1000;
const LAST_LINES_MAX = 12;
/**
 * Documentation that no program reads is not unpacked. The directories of manual pages stay, because packages put links
 * for their alternatives there.
 */
const DOCUMENTATION = ['bug/*', 'doc/*', 'doc-base/*', 'info/*', 'lintian/*', 'locale/*', 'man/*/*'];
/** Packages in every pack. bash runs the launcher of most languages, and programs in bash use perl. Node is the service's own. */
const ALWAYS = ['perl-base', 'bash'];

export interface BootstrapOptions {
  readonly recipe: Recipe;
  /** The directory of the tree, which does not exist yet. */
  readonly tree: string;
  /** An empty directory for files of the build. */
  readonly work: string;
  /** The proxy variables of the caller, such as `http_proxy`. No other variable is passed on. */
  readonly proxies: Readonly<Record<string, string>>;
  /** Called with every line that the build prints. */
  readonly onLine: (line: string) => void;
}

/** Builds the tree. @throws PackError with the last lines that were printed */
export async function bootstrapTree(options: BootstrapOptions): Promise<void> {
  const { recipe, tree, work, proxies, onLine } = options;
  requireCommand();
  const { suite, components = ['main'] } = recipe;
  const mirrors = mirrorArguments(readAptSources({ suite, components }), work);
  if (mirrors.length === 0) onLine(`this host has no apt sources for ${suite}: mmdebstrap's own are used`);
  const words = [...optionWords(recipe, await aptSettings(work)), suite, tree, ...mirrors];
  const lines: string[] = [];
  const code = await runBuild(words, { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: work, ...proxies }, (line) => {
    lines.push(line);
    if (lines.length > LAST_LINES_MAX) lines.shift();
    onLine(line);
  });
  if (code !== 0) throw new PackError(`mmdebstrap failed (${code}): ${lines.join(' | ')}`, { hint: HINT });
}

const HINT = 'check the packages and the suite of the recipe, and that `apt-get update` works on this host';

function requireCommand(): void {
  try {
    accessSync(MMDEBSTRAP, constants.X_OK);
  } catch (cause) {
    throw new PackError('mmdebstrap is not installed', { hint: 'apt-get install mmdebstrap', cause });
  }
}

function optionWords(recipe: Recipe, aptFile: string): string[] {
  const packages = [...ALWAYS, ...recipe.languages.flatMap((name) => LANGUAGE_RUNS[name].packages), ...recipe.packages];
  return [
    '--mode=root',
    '--format=directory',
    // Debian's essential packages, but not apt, because no cell uses it.
    '--variant=essential',
    `--include=${[...new Set(packages)].join(',')}`,
    `--components=${(recipe.components ?? ['main']).join(',')}`,
    `--aptopt=${aptFile}`,
    '--dpkgopt=force-unsafe-io',
    ...DOCUMENTATION.map((name) => `--dpkgopt=path-exclude=/usr/share/${name}`),
  ];
}

function mirrorArguments({ oneLine, deb822 }: AptSources, work: string): string[] {
  const files = [
    { name: join(work, 'host.list'), text: oneLine },
    { name: join(work, 'host.sources'), text: deb822 },
  ].filter(({ text }) => text !== '');
  for (const { name, text } of files) writeFileSync(name, `${text}\n`);
  return files.map(({ name }) => name);
}

/** How this host's apt fetches: proxies, retries and checks of dates. The apt of mmdebstrap does not read the host's settings. */
async function aptSettings(work: string): Promise<string> {
  const { stdout } = await run('/usr/bin/apt-config', ['dump', 'Acquire'], { env: {} });
  const file = join(work, 'apt.conf');
  writeFileSync(file, stdout);
  return file;
}

/** Resolves with the exit code, or the signal's name. The build dies with this process. */
async function runBuild(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
): Promise<number | string> {
  const apart = ['--pdeathsig=KILL', 'unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const child = spawn('/usr/bin/setpriv', [...apart, MMDEBSTRAP, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { LANG: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive', ...env },
    cwd: '/',
    timeout: BUILD_MILLISECONDS_MAX,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  await Promise.all([readLines(child.stdout, onLine), readLines(child.stderr, onLine)]);
  return ended;
}

async function readLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  for await (const line of createInterface(stream)) onLine(line);
}
