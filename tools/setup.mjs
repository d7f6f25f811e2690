/**
 * Makes a fresh clone able to run. Installs the packages that package-lock.json names, including the pinned Node, and the
 * runtimes of cells if this process may do that. With `--tests`, also installs what only tests need. With `--sources-only`,
 * installs no system packages. If nothing is missing, changes nothing and prints nothing. Runs on any Node from 18 on. npm starts
 * it with the Node on which npm itself runs, because the pinned Node may not work yet.
 */
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { compileNatives, installSystemPackages } from '../packages/server/setup/host.mjs';
import { say } from '../packages/server/setup/system-packages.mjs';
import { installPackages, isNewEnough, pinnedNode } from './install-packages.mjs';
import { buildStalePages } from './pages/stale-pages.mjs';
import { installTestPackages } from './test-packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const nodeLink = join(root, 'node_modules', '.bin', 'node');
const lock = readJson(join(root, 'package-lock.json'));

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Why node_modules differs from what package-lock.json requires; null if it does not differ. */
function staleness() {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return 'no packages are installed';
  const installed = readJson(installedFile).packages;
  const wanted = lock.packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue;
    const there = installed[path];
    if (there === undefined && !entry.optional) return `${path} is missing`;
    if (there !== undefined && there.version !== entry.version) return `${path} is not at ${entry.version}`;
  }
  if (!isNewEnough(process) && !existsSync(pathOfNode())) return 'the pinned Node is missing';
  const surplus = Object.keys(installed).find((path) => wanted[path] === undefined);
  return surplus === undefined ? null : `${surplus} is no longer wanted`;
}

function installStalePackages() {
  const reason = staleness();
  if (reason === null) return;
  say(`${reason}: running npm ci`);
  installPackages(root, { say });
}

/** The path of this host's pinned Node, relative to the root. Throws if no Node is pinned for the host. */
function pathOfNode() {
  const { name, program } = pinnedNode(lock, process);
  return join(root, 'node_modules', name, program);
}

/**
 * Makes the link to the pinned Node if npm did not. npm 9, which Debian 12 has, leaves out the Nodes for other platforms. It then
 * also removes the link, because those Nodes would have the same link.
 */
function linkPinnedNode() {
  if (existsSync(nodeLink) || isNewEnough(process)) return;
  rmSync(nodeLink, { force: true });
  symlinkSync(relative(dirname(nodeLink), pathOfNode()), nodeLink);
}

function buildPages() {
  const built = buildStalePages(existsSync(nodeLink) ? nodeLink : process.execPath);
  if (built.length > 0) say(`built the pages of ${built.join(' and ')}`);
}

try {
  // Throws at once if there is no Node for this host.
  if (!isNewEnough(process)) pathOfNode();
  // Packages' scripts may run the pinned Node, so the library that it needs is installed first.
  if (process.argv.includes('--tests')) installTestPackages();
  else if (!process.argv.includes('--sources-only')) installSystemPackages([], 'isolation and all languages');
  installStalePackages();
  linkPinnedNode();
  compileNatives();
  buildPages();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
