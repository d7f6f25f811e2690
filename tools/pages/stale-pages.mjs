/**
 * Builds the pages that the service serves, if their sources have changed since the last build. A page is a package with a
 * `vite.config.ts`, and is built into `packages/server/pages/`. This module runs on any Node from 18 on.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtPages, pagePackages } from './page-packages.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** For each page, this file has the digest of the sources from which the page was built. */
const STAMPS = join(root, 'node_modules/.cache/vouchbox-pages.json');

/**
 * Builds the pages that are missing or were built from other sources.
 * @param {string} node the Node that runs the builder
 * @returns {readonly string[]} the packages whose pages were built
 */
export function buildStalePages(node) {
  const stamps = existsSync(STAMPS) ? JSON.parse(readFileSync(STAMPS, 'utf8')) : {};
  const digests = Object.fromEntries(pagePackages().map((folder) => [folder, digestOfSources(folder)]));
  const isBuilt = (folder) => existsSync(join(builtPages, folder, 'index.html')) && stamps[folder] === digests[folder];
  const stale = Object.keys(digests).filter((folder) => !isBuilt(folder));
  if (stale.length === 0) return [];
  execFileSync(node, [join(root, 'tools/pages/build.ts'), ...stale], { stdio: ['ignore', 2, 2] });
  mkdirSync(dirname(STAMPS), { recursive: true });
  writeFileSync(STAMPS, JSON.stringify(digests));
  return stale;
}

/**
 * A digest over the page's own files, our packages that it imports, the versions of all other packages, and the builder.
 */
function digestOfSources(folder) {
  const hash = createHash('sha256');
  const files = [
    join(root, 'package-lock.json'),
    ...filesBelow(join(root, 'tools/pages')),
    ...packagesOf(folder).flatMap((name) => filesBelow(join(root, 'packages', name))),
    ...(folder === 'docs-site' ? documents() : []),
  ];
  for (const file of files) {
    const bytes = readFileSync(file);
    hash.update(`${file.slice(root.length)} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest('hex');
}

/** A package, and all of our packages that it imports. */
function packagesOf(folder) {
  const reached = new Set([folder]);
  for (const name of reached) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
    for (const other of Object.keys(dependencies)) {
      if (other.startsWith('@vouchbox/')) reached.add(other.slice('@vouchbox/'.length));
    }
  }
  return [...reached].sort((one, other) => (one < other ? -1 : 1));
}

/** Whether a file can be a source of a page. Tests and documents beside the sources cannot be one. */
const isSource = (name) => !/\.(test|fixture)\.tsx?$|\.md$/.test(name);

/** The sources of the documents: Markdown files and pictures, in any folder. */
function documents() {
  const isDocument = (name) => /\.(md|svg|png)$/.test(name);
  const folders = ['docs', 'clients', 'examples', 'packages', 'test'];
  return [
    ...readdirSync(root).flatMap((name) => (name.endsWith('.md') ? [join(root, name)] : [])),
    ...folders.flatMap((folder) => filesBelow(join(root, folder), isDocument)),
  ];
}

function filesBelow(directory, isMeant = isSource) {
  return readdirSync(directory, { withFileTypes: true })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory())
        return ['node_modules', 'test', 'dist', 'pages'].includes(entry.name) ? [] : filesBelow(path, isMeant);
      return isMeant(entry.name) ? [path] : [];
    });
}
