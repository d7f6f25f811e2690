/**
 * Builds the launcher of namespace cells (packages/server/src/sandbox/launcher) with the system's C compiler: a program,
 * and the same as a library for interpreters that are forked. Without it the service has crun build those cells.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SHARED = ['configuration.c', 'serve.c', 'cell.c', 'mounts.c', 'init.c'];
const FLAGS = ['-std=gnu17', '-O2', '-Wall', '-Wextra', '-Werror', '-fstack-protector-strong', '-D_FORTIFY_SOURCE=2'];

/** What is built, of which sources. */
const TARGETS = [
  {
    file: 'svc-launcher',
    sources: ['main.c', 'filter.c', 'root.c', 'executable.c', ...SHARED],
    flags: ['-fPIE', '-pie', '-Wl,-z,now'],
    libraries: ['-lseccomp'],
  },
  {
    file: 'svc-launcher.so',
    sources: ['zygote.c', 'python.c', 'executable.c', ...SHARED],
    flags: ['-fPIC', '-shared', '-Wl,-z,now'],
    libraries: [],
  },
];

function isBuilt(target, sources) {
  if (!existsSync(target)) return false;
  const { mtimeMs } = statSync(target);
  return readdirSync(sources).every((name) => !/\.[ch]$/.test(name) || statSync(join(sources, name)).mtimeMs < mtimeMs);
}

/**
 * Builds what is missing or older than a source. Throws, with what the compiler said, where that fails.
 * @param {string} root the checkout
 * @returns {boolean} whether anything was built
 */
export function buildLauncher(root) {
  const server = join(root, 'packages', 'server');
  const sources = join(server, 'src', 'sandbox', 'launcher');
  const built = join(server, 'native');
  const stale = TARGETS.filter(({ file }) => !isBuilt(join(built, file), sources));
  if (stale.length > 0) mkdirSync(built, { recursive: true });
  for (const { file, sources: names, flags, libraries } of stale) {
    // Under another name first: a service that starts meanwhile finds a whole one or none.
    const partial = join(built, `${file}.${process.pid}`);
    execFileSync('cc', [...FLAGS, ...flags, '-o', partial, ...names, ...libraries], {
      cwd: sources,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    renameSync(partial, join(built, file));
  }
  return stale.length > 0;
}
