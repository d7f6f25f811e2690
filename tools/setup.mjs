/**
 * Makes a fresh clone able to run: installs the packages that package-lock.json names, including the pinned Node, and,
 * where this process may, the sandbox runtimes; with `--tests` also what only tests need. It runs on any Node from 18 on.
 * If nothing is missing, it changes and prints nothing. npm starts it with the Node that npm itself runs on: the pinned one
 * may not work yet.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { compileNatives, installSystemPackages } from '../packages/server/setup/host.mjs';
import { say } from '../packages/server/setup/system-packages.mjs';
import { buildStalePages } from './pages/stale-pages.mjs';
import { installTestPackages } from './test-packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const pinnedNode = join(root, 'node_modules', '.bin', 'node');
const oldestNode = [26, 4];

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Why node_modules is not what package-lock.json asks for, or null if it is. */
function staleness() {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return 'no packages are installed';
  const installed = readJson(installedFile).packages;
  const wanted = readJson(join(root, 'package-lock.json')).packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue;
    const there = installed[path];
    if (there === undefined && !entry.optional) return `${path} is missing`;
    if (there !== undefined && there.version !== entry.version) return `${path} is not at ${entry.version}`;
  }
  const surplus = Object.keys(installed).find((path) => wanted[path] === undefined);
  return surplus === undefined ? null : `${surplus} is no longer wanted`;
}

function installPackages() {
  const reason = staleness();
  if (reason === null) return;
  say(`${reason}: running npm ci`);
  // Under `npm run` this is the npm that the user started; otherwise the one in PATH.
  const npm = process.env.npm_execpath;
  const [command, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  execFileSync(command, [...first, 'ci', '--no-audit', '--no-fund'], { cwd: root, stdio: ['ignore', 2, 2] });
}

/**
 * Makes the link to the pinned Node where npm did not. npm 9, which Debian 12 has, removes it together with the Nodes of other
 * platforms, which have the same link and are not installed.
 */
function linkPinnedNode() {
  const node = join('..', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(pinnedNode) || !existsSync(join(root, 'node_modules', '.bin', node))) return;
  rmSync(pinnedNode, { force: true });
  symlinkSync(node, pinnedNode);
}

/** Fails if neither the pinned Node nor the one running this file can run the sources. */
function checkNode() {
  if (existsSync(pinnedNode)) return;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  throw new Error(
    `there is no pinned Node for ${process.platform}-${process.arch}, and this one is ${process.version}: ` +
      `install Node ${oldestNode.join('.')} or newer`,
  );
}

function buildPages() {
  const built = buildStalePages(existsSync(pinnedNode) ? pinnedNode : process.execPath);
  if (built.length > 0) say(`built the pages of ${built.join(' and ')}`);
}

try {
  // Scripts of packages may run the pinned Node, which needs its library first.
  if (process.argv.includes('--tests')) installTestPackages();
  else installSystemPackages([], 'isolation and all languages');
  installPackages();
  linkPinnedNode();
  checkNode();
  compileNatives();
  buildPages();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
