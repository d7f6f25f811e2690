/**
 * Builds the programs that start cells for each architecture that a package serves, and lists their digests. They are linked with
 * the C library and libseccomp from this host's Debian release. apt fetches these libraries into a separate directory. So nothing
 * is installed, and it does not matter which libraries this host has. docs/decisions/0048.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// @ts-expect-error: the set-up is plain JavaScript.
import { buildNativesWith } from '../../packages/server/setup/build-natives.mjs';
// @ts-expect-error: the set-up is plain JavaScript.
import { installMissing, say } from '../../packages/server/setup/system-packages.mjs';

/** What Node, Debian and compilers call each architecture. */
const ARCHITECTURES = [
  { name: 'x64', debian: 'amd64', compilers: 'x86_64-linux-gnu' },
  { name: 'arm64', debian: 'arm64', compilers: 'aarch64-linux-gnu' },
] as const;

type Architecture = (typeof ARCHITECTURES)[number];

/** The libraries with which the programs are linked, and their headers. */
const LIBRARIES = ['libc6', 'libc6-dev', 'libseccomp-dev', 'linux-libc-dev'];
/** The version of the oldest C library that should load our one library: Ubuntu 22.04's. Our programs need no C library. */
const GLIBC_MINOR_MAX = 35;

export interface NativeList {
  /** The version of the compiler, and of each library, keyed by package. Both architectures use the same versions. */
  readonly built_with: Readonly<Record<string, string>>;
  /** The programs, keyed by their paths: `ARCHITECTURE/NAME`. */
  readonly programs: Readonly<Record<string, { readonly sha256: string; readonly size_bytes: number }>>;
}

/** Writes `ARCHITECTURE/NAME` and `digests.json` into a directory. If a program cannot be built, throws and says why. */
export function buildNativePrograms(directory: string): NativeList {
  installCompilers();
  const built_with: Record<string, string> = {};
  const programs: Record<string, { sha256: string; size_bytes: number }> = {};
  for (const architecture of ARCHITECTURES) {
    const libraries = mkdtempSync(join(tmpdir(), 'vouchbox-libraries-'));
    try {
      Object.assign(built_with, compilerOf(architecture), fetchLibraries(architecture, libraries));
      for (const name of buildFor(architecture, libraries, join(directory, architecture.name))) {
        const bytes = readFileSync(join(directory, architecture.name, name));
        warnOfGlibc(name, bytes);
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        programs[`${architecture.name}/${name}`] = { sha256, size_bytes: bytes.length };
      }
    } finally {
      rmSync(libraries, { recursive: true, force: true });
    }
  }
  writeFileSync(join(directory, 'digests.json'), `${JSON.stringify({ built_with, programs }, null, 2)}\n`);
  return { built_with, programs };
}

function installCompilers(): void {
  const own = process.arch;
  const lacking = () => ARCHITECTURES.filter(({ compilers }) => !existsSync(`/usr/bin/${compilers}-gcc`));
  const packageOf = ({ name, compilers }: Architecture) =>
    name === own ? 'gcc' : `gcc-${compilers.replace('_', '-')}`;
  installMissing(lacking().map(packageOf), 'the programs in the packages');
  const missing = lacking().map(packageOf);
  if (missing.length > 0) {
    throw new Error(`the packages need programs for each architecture, and ${missing.join(' and ')} to build them`);
  }
}

function compilerOf({ compilers }: Architecture): Record<string, string> {
  return { gcc: execFileSync(`${compilers}-gcc`, ['-dumpfullversion'], { encoding: 'utf8' }).trim() };
}

/** Unpacks an architecture's libraries into `root` below the directory. apt checks their signatures. */
function fetchLibraries({ debian }: Architecture, directory: string): Record<string, string> {
  for (const name of ['lists/partial', 'cache/archives/partial', 'fetched', 'root']) {
    mkdirSync(join(directory, name), { recursive: true });
  }
  writeFileSync(join(directory, 'status'), '');
  const settings = [
    ...['APT::Architecture', 'APT::Architectures'].map((name) => `${name}=${debian}`),
    ...[`Dir::State=${directory}`, `Dir::State::status=${directory}/status`, `Dir::Cache=${directory}/cache`],
    // Without this setting, apt as root would give the directory to its own user.
    ...['APT::Sandbox::User=root', 'Acquire::Retries=3'],
  ];
  const apt = (...words: readonly string[]) => {
    const options = settings.flatMap((setting) => ['-o', setting]);
    execFileSync('apt-get', ['-qq', ...options, ...words], {
      cwd: join(directory, 'fetched'),
      stdio: ['ignore', 'ignore', 2],
    });
  };
  try {
    apt('update');
    apt('download', ...LIBRARIES);
  } catch (error) {
    throw new Error(`apt-get has no ${LIBRARIES.join(', ')} for ${debian} here: build the packages on Debian`, {
      cause: error,
    });
  }
  const versions = readdirSync(join(directory, 'fetched')).map((file) => {
    const path = join(directory, 'fetched', file);
    execFileSync('dpkg-deb', ['--extract', path, join(directory, 'root')]);
    const field = (name: string) => execFileSync('dpkg-deb', ['--field', path, name], { encoding: 'utf8' }).trim();
    return [field('Package'), field('Version')] as const;
  });
  return Object.fromEntries(versions);
}

function buildFor({ compilers }: Architecture, libraries: string, directory: string): readonly string[] {
  try {
    // `-s` leaves out symbols: the symbols of the C library would be larger than the code of these programs.
    const words = [`--sysroot=${join(libraries, 'root')}`, '-s'];
    return buildNativesWith({ compiler: `${compilers}-gcc`, words, directory }) as readonly string[];
  } catch (error) {
    throw new Error(String((error as { stderr?: Buffer }).stderr ?? error), { cause: error });
  }
}

/** Warns if the library that a Python loads needs a newer C library than the oldest supported host or pack has. */
function warnOfGlibc(name: string, bytes: Buffer): void {
  const minor = newestGlibcMinor(bytes);
  if (!name.endsWith('.so') || minor <= GLIBC_MINOR_MAX) return;
  say(
    `${name} needs glibc 2.${minor}: hosts with an older one start each Python anew. Debian 12 builds it for Ubuntu 22.04, too`,
  );
}

/** The N of the newest `GLIBC_2.N` that a library requires. */
export function newestGlibcMinor(bytes: Buffer): number {
  return Math.max(0, ...Array.from(bytes.toString('latin1').matchAll(/GLIBC_2\.(\d+)/g), ([, minor]) => Number(minor)));
}
