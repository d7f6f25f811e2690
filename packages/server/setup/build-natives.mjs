/**
 * Builds what starts cells with the system's C compiler: the launcher of namespace cells (sandbox/launcher), as a
 * program and as a library for forked interpreters, and for gVisor cells their starter (sandbox/sentry) and process 1.
 * Without the launcher crun builds cells; without the starter, `runsc run` does.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const server = fileURLToPath(new URL('..', import.meta.url));
/** Beside the TypeScript in a checkout, beside the compiled JavaScript in an installed package. */
const SOURCES = ['src/sandbox', 'dist/sandbox'].map((folder) => join(server, folder)).find(existsSync);
/** `sandbox/native.ts` looks for them here. */
const BUILT = join(server, 'native');

const LAUNCHER = [
  ...['main.c', 'configuration.c', 'filter.c', 'root.c', 'serve.c', 'answer.c', 'cells.c', 'copies.c', 'living.c'],
  ...['groups.c', 'report.c', 'cell.c', 'maker.c', 'mounts.c', 'init.c', 'privileges.c', 'command.c', 'failure.c'],
];
const TEMPLATE = ['template.c', 'move.c', 'executable.c', 'privileges.c', 'python.c', 'failure.c'];
const FLAGS = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Werror', '-fstack-protector-strong', '-D_FORTIFY_SOURCE=2'];

/** The programs, and the sources that each is built from. */
const TARGETS = [
  {
    folder: 'sentry',
    file: 'svc-sentry',
    sources: ['main.c', 'process.c', 'roots.c', 'control.c', 'ending.c'],
    flags: ['-static'],
    libraries: [],
  },
  { folder: 'sentry', file: 'svc-stage', sources: ['stage.c'], flags: ['-static'], libraries: [] },
  {
    folder: 'sentry',
    file: 'svc-filter',
    sources: ['filter.c'],
    flags: ['-fPIE', '-pie'],
    libraries: ['-lseccomp'],
  },
  { folder: 'user-namespace', file: 'svc-enter', sources: ['enter.c'], flags: ['-static'], libraries: [] },
  {
    folder: 'launcher',
    file: 'svc-init',
    sources: ['guest.c', 'report.c', 'init.c', 'privileges.c', 'command.c', 'failure.c'],
    flags: ['-static'],
    libraries: [],
  },
  {
    folder: 'launcher',
    file: 'svc-launcher',
    sources: LAUNCHER,
    flags: ['-static'],
    libraries: ['-lseccomp'],
  },
  {
    folder: 'launcher',
    file: 'svc-launcher.so',
    sources: TEMPLATE,
    flags: ['-fPIC', '-shared', '-Wl,-z,now'],
    libraries: [],
  },
];

function isBuilt(target, sources) {
  if (!existsSync(target)) return false;
  const { mtimeMs } = statSync(target);
  return readdirSync(sources).every((name) => !/\.[ch]$/.test(name) || statSync(join(sources, name)).mtimeMs < mtimeMs);
}

/** Builds under another name first, so that a service that starts meanwhile finds a complete program or none. */
function build({ file, sources, flags, libraries }, cwd, built) {
  const partial = join(built, `${file}.${process.pid}`);
  const command = [...FLAGS, ...flags, '-o', partial, ...sources, ...libraries];
  execFileSync('cc', command, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  renameSync(partial, join(built, file));
}

/**
 * Builds what is missing or older than a source. If one fails, throws with the compiler's message after building the
 * others.
 * @returns {boolean} whether anything was built
 */
export function buildNatives() {
  const sourcesOf = (folder) => join(SOURCES, folder);
  const stale = TARGETS.filter(({ folder, file }) => !isBuilt(join(BUILT, file), sourcesOf(folder)));
  if (stale.length > 0) mkdirSync(BUILT, { recursive: true });
  const failures = stale.flatMap((target) => {
    try {
      build(target, sourcesOf(target.folder), BUILT);
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (failures.length > 0) throw failures[0];
  return stale.length > 0;
}
