/**
 * Builds what makes cells with the system's C compiler: the launcher of namespace cells (sandbox/native/launcher), as a program
 * and as a library for forked interpreters; the starter of gVisor cells (sandbox/native/sentry); and what a runtime needs that is
 * started for each cell, the stage and process 1. Without the launcher, which needs libseccomp, crun makes cells.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const server = fileURLToPath(new URL('..', import.meta.url));
/** The programs lie beside the TypeScript in a checkout, and beside the compiled JavaScript in an installed package. */
const SOURCES = ['src/sandbox/native', 'dist/sandbox/native'].map((folder) => join(server, folder)).find(existsSync);
/** `sandbox/native/native.ts` looks for them here, in a directory for each architecture. */
const NATIVE = join(server, 'native');
const BUILT = join(NATIVE, process.arch);

/** Where their sources are. */
const FOLDERS = ['.', 'launcher', 'sentry'];
const SHARED = ['failure.c', 'steps.c'];
const PROCESS_ONE = ['limits.c', ...named('launcher', ['init', 'report', 'privileges', 'command'])];
const LAUNCHER = named('launcher', [
  ...['main', 'configuration', 'filter', 'root', 'serve', 'answer', 'cells', 'copies', 'living', 'groups'],
  ...['cell', 'maker', 'mounts'],
]);
const TEMPLATE = ['failure.c', ...named('launcher', ['template', 'move', 'executable', 'privileges', 'python'])];
const STATIC = ['-static'];
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
  { file: 'svc-enter', sources: ['enter.c', 'failure.c'], flags: STATIC },
  { file: 'svc-init', sources: ['launcher/guest.c', ...PROCESS_ONE, ...SHARED], flags: STATIC },
  { file: 'svc-launcher', sources: [...LAUNCHER, ...PROCESS_ONE, ...SHARED], flags: [...STATIC, '-lseccomp'] },
  { file: 'svc-launcher.so', sources: TEMPLATE, flags: ['-fPIC', '-shared', '-Wl,-z,now'] },
];

function isBuilt(target) {
  if (!existsSync(target)) return false;
  const { mtimeMs } = statSync(target);
  const sources = FOLDERS.flatMap((folder) => readdirSync(join(SOURCES, folder)).map((name) => join(folder, name)));
  return sources.every((name) => !/\.[ch]$/.test(name) || statSync(join(SOURCES, name)).mtimeMs < mtimeMs);
}

/** Builds under another name first, so that a service that starts meanwhile finds a complete program or none. */
function build({ file, sources, flags }, { compiler, words, directory }) {
  const partial = join(directory, `${file}.${process.pid}`);
  // A library comes after what uses it.
  const command = [...words, ...FLAGS, '-o', partial, ...sources, ...flags];
  execFileSync(compiler, command, { cwd: SOURCES, stdio: ['ignore', 'pipe', 'pipe'] });
  renameSync(partial, join(directory, file));
}

/**
 * Builds all of them for any architecture. Throws at the first that fails.
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

/** Whether this is a package that brought them: then nothing is compiled here. */
export function areNativesBrought() {
  return existsSync(join(NATIVE, 'digests.json'));
}

/**
 * Builds what is missing or older than a source. If one fails, throws with the compiler's message after building the
 * others.
 * @returns {boolean} whether anything was built
 */
export function buildNatives() {
  const stale = TARGETS.filter(({ file }) => !isBuilt(join(BUILT, file)));
  if (stale.length > 0) mkdirSync(BUILT, { recursive: true });
  const failures = stale.flatMap((target) => {
    try {
      build(target, { compiler: 'cc', words: [], directory: BUILT });
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (failures.length > 0) throw failures[0];
  return stale.length > 0;
}
