/**
 * Completes a package-lock. `npm install` silently leaves out an optional platform package that the registry in use lacks, and
 * `npm ci` then refuses the lock everywhere. The missing entry follows from the package's name and the exact version that its
 * parent requires, so one lock serves every platform.
 */

const OPERATING_SYSTEMS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** The words of `vocabulary` that are parts of a package name, between separators. */
function wordsIn(name, vocabulary) {
  return vocabulary.filter((word) => new RegExp(`(^|[-_./])${word}([-_./]|$)`).test(name));
}

/** The C library for which a package is built, according to its name. */
function libraryOf(name) {
  if (name.includes('musl')) return ['musl'];
  return /gnu|glibc/.test(name) ? ['glibc'] : [];
}

/** Where Node would find `name` from the package at `path`: the nearest enclosing node_modules. */
function resolveEntry(packages, path, name) {
  for (let at = path; ; at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : '') {
    const found = packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`];
    if (found !== undefined || at === '') return found;
  }
}

/** The entry that npm would have written if it could have fetched the package. */
function platformEntry(name, version, parent) {
  const spelled = name.replace('windows', 'win32').replace('linuxmusl', 'linux-musl');
  const cpu = wordsIn(name, PROCESSORS);
  const libc = libraryOf(name);
  const os = wordsIn(spelled, OPERATING_SYSTEMS);
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    ...(parent.dev && { dev: true }),
    ...(libc.length > 0 && { libc }),
    optional: true,
    ...(os.length > 0 && { os }),
  };
}

/**
 * Adds the missing optional packages to a parsed lock and removes registry addresses, so that the lock names no host.
 * @param lock a parsed package-lock of version 3; changed in place
 * @returns {{ added: string[], impossible: string[] }} what was added, and what cannot be added without an exact version
 */
export function completeLock(lock) {
  const added = [];
  const impossible = [];
  for (const [path, parent] of Object.entries(lock.packages)) {
    if (/^https?:/.test(parent.resolved ?? '')) delete parent.resolved;
    for (const [name, wanted] of Object.entries(parent.optionalDependencies ?? {})) {
      const seen = resolveEntry(lock.packages, path, name);
      const version = wanted.replace(/^[=v]+/, '');
      const isExact = /^\d+\.\d+\.\d+[\w.+-]*$/.test(version);
      if (seen !== undefined && (!isExact || seen.version === version)) continue;
      if (!isExact) {
        impossible.push(`${name}@${wanted} (needed by ${path})`);
        continue;
      }
      const home = seen === undefined ? '' : `${path}/`;
      lock.packages[`${home}node_modules/${name}`] = platformEntry(name, version, parent);
      added.push(`${name}@${version}`);
    }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  return { added, impossible };
}
