/**
 * Compiles the programs that make cells: the launcher of namespace cells (sandbox/native/launcher), as a program and as a library
 * for forked interpreters; the starter of gVisor cells (sandbox/native/sentry); and the stage and process 1, for a runtime that
 * is started for each cell. Without the launcher, which needs libseccomp, crun makes cells.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const server = fileURLToPath(new URL('..', import.meta.url));
/** The programs lie beside the TypeScript in a checkout, and beside the compiled JavaScript in an installed package. */
const SOURCES = ['src/sandbox/native', 'dist/sandbox/native'].map((folder) => join(server, folder)).find(existsSync);
/** `sandbox/native/native.ts` looks for the programs here, in a directory for each architecture. */
const NATIVE = join(server, 'native');
const BUILT = join(NATIVE, process.arch);

/** The folders with the sources of these programs. */
const FOLDERS = ['.', 'launcher', 'sentry'];
const SHARED = ['failure.c', 'steps.c'];
const PROCESS_ONE = ['limits.c', ...named('launcher', ['init', 'report', 'privileges', 'command'])];
const LAUNCHER = named('launcher', [
  ...['main', 'configuration', 'filter', 'root', 'serve', 'answer', 'cells', 'copies', 'living', 'groups'],
  ...['cell', 'maker', 'mounts'],
]);
const TEMPLATE = ['failure.c', ...named('launcher', ['template', 'move', 'executable', 'privileges', 'python'])];
const STATIC = ['-static'];
/** Options for a program without any library. The program must stay small, because each job that starts it keeps a copy. */
const ALONE = [
  ...['-static', '-nostdlib', '-ffreestanding', '-fno-stack-protector', '-U_FORTIFY_SOURCE', '-Os', '-s'],
  ...['-Wl,--build-id=none', '-Wl,-z,noseparate-code', '-Wl,-z,norelro'],
];
const FLAGS = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Werror', '-fstack-protector-strong', '-D_FORTIFY_SOURCE=2'];

function named(folder, names) {
  return names.map((name) => `${folder}/${name}.c`);
}

/** The programs, and the sources that each is built from. */
const TARGETS = [
  {
    file: 'svc-sentry',
    sources: [...named('sentry', ['main', 'process', 'roots', 'control', 'ending']), ...SHARED],
    flags: STATIC,
  },
  { file: 'svc-stage', sources: ['stage.c', ...SHARED], flags: STATIC },
  {
    file: 'svc-filter',
    sources: ['sentry/filter.c', 'launcher/configuration.c', 'launcher/filter.c', 'failure.c'],
    flags: [...STATIC, '-lseccomp'],
  },
  { file: 'svc-enter', sources: ['enter.c', ...SHARED], flags: STATIC },
  { file: 'svc-init', sources: ['launcher/guest.c', ...PROCESS_ONE, ...SHARED], flags: STATIC },
  { file: 'svc-launcher', sources: [...LAUNCHER, ...PROCESS_ONE, ...SHARED], flags: [...STATIC, '-lseccomp'] },
  { file: 'svc-canary', sources: ['canary.c'], flags: ALONE },
  { file: 'svc-launcher.so', sources: TEMPLATE, flags: ['-fPIC', '-shared', '-Wl,-z,now'] },
];

/** The file beside the programs with the digest of their sources. File times say little: a copy may change them. */
const BUILT_OF = join(BUILT, 'sources.sha256');

/** The digest of all sources and of this file, which says how they are built. */
function sourcesDigest() {
  const digest = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
  for (const folder of FOLDERS) {
    const names = readdirSync(join(SOURCES, folder)).filter((name) => /\.[ch]$/.test(name));
    for (const name of names.sort())
      digest.update(`\0${folder}/${name}\0`).update(readFileSync(join(SOURCES, folder, name)));
  }
  return digest.digest('hex');
}

/** The programs that are missing or were built from other sources. */
function staleTargets() {
  const isCurrent = existsSync(BUILT_OF) && readFileSync(BUILT_OF, 'utf8') === sourcesDigest();
  return TARGETS.filter(({ file }) => !isCurrent || !existsSync(join(BUILT, file)));
}

/** The names of the programs that a checkout lacks, or that were built from other sources. */
export function staleNatives() {
  return staleTargets().map(({ file }) => file);
}

/** Builds under another name first, so that a service that starts meanwhile finds a complete program or none. */
function build({ file, sources, flags }, { compiler, words, directory }) {
  const partial = join(directory, `${file}.${process.pid}`);
  // A library comes after the files that use it.
  const command = [...words, ...FLAGS, '-o', partial, ...sources, ...flags];
  execFileSync(compiler, command, { cwd: SOURCES, stdio: ['ignore', 'pipe', 'pipe'] });
  renameSync(partial, join(directory, file));
}

/**
 * Builds all programs for any architecture. Throws at the first that fails.
 * @param {{ compiler: string, words: readonly string[], directory: string }} how with further words for the compiler
 * @returns {string[]} their names
 */
export function buildNativesWith(how) {
  mkdirSync(how.directory, { recursive: true });
  return TARGETS.map((target) => {
    build(target, how);
    return target.file;
  });
}

/** Whether this package came with the built programs: then nothing is compiled here. */
export function areNativesBrought() {
  return existsSync(join(NATIVE, 'digests.json'));
}

/**
 * Builds the programs that are missing or were built from other sources. If one fails, builds the others and throws with the
 * compiler's message. The failed program is removed, because an outdated one could silently do less than asked.
 * @returns {boolean} whether anything was built
 */
export function buildNatives() {
  const stale = staleTargets();
  if (stale.length === 0) return false;
  mkdirSync(BUILT, { recursive: true });
  const failures = stale.flatMap((target) => {
    try {
      build(target, { compiler: 'cc', words: [], directory: BUILT });
      return [];
    } catch (error) {
      rmSync(join(BUILT, target.file), { force: true });
      return [error];
    }
  });
  writeFileSync(BUILT_OF, sourcesDigest());
  if (failures.length > 0) throw failures[0];
  return true;
}
