/**
 * Makes a fresh clone able to run: installs the packages that package-lock.json names, including the pinned Node, and,
 * where this process may, the sandbox runtimes. It runs on any Node from 18 on. If nothing is missing, it changes and
 * prints nothing. npm starts it with the Node that npm itself runs on: the pinned one may not work yet.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { BACKPORTS_FILES, planBackport } from './backports.mjs';
import { buildLauncher } from './build-launcher.mjs';
import { aptGet, aptInstall, attempt, installMissing, mayInstall, say } from './system-packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const pinnedNode = join(root, 'node_modules', '.bin', 'node');
const oldestNode = [26, 4];

/** Where system packages put their commands; a version manager's shims in PATH are of no use in a cell. */
const COMMAND_DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const LIBRARY_DIRECTORIES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];
const HEADER_DIRECTORIES = ['/usr/include', '/usr/include/x86_64-linux-gnu', '/usr/include/aarch64-linux-gnu'];
const MODULE_DIRECTORIES = ['/usr/lib/python3/dist-packages'];

/** Debian and Ubuntu packages, each with a file that shows it is installed. The last three are for tests alone. */
const SYSTEM_PACKAGES = [
  { name: 'libatomic1', file: 'libatomic.so.1', directories: LIBRARY_DIRECTORIES },
  { name: 'crun', file: 'crun', directories: COMMAND_DIRECTORIES },
  { name: 'runsc', file: 'runsc', directories: COMMAND_DIRECTORIES },
  { name: 'python3', file: 'python3', directories: COMMAND_DIRECTORIES },
  { name: 'perl-base', file: 'perl', directories: COMMAND_DIRECTORIES },
  { name: 'gcc', file: 'cc', directories: COMMAND_DIRECTORIES },
  { name: 'libc6-dev', file: 'stdio.h', directories: HEADER_DIRECTORIES },
  { name: 'libseccomp-dev', file: 'seccomp.h', directories: HEADER_DIRECTORIES },
  { name: 'mmdebstrap', file: 'mmdebstrap', directories: COMMAND_DIRECTORIES },
  { name: 'strace', file: 'strace', directories: COMMAND_DIRECTORIES },
  { name: 'openssl', file: 'openssl', directories: COMMAND_DIRECTORIES },
  { name: 'python3-cryptography', file: 'cryptography/__init__.py', directories: MODULE_DIRECTORIES },
];

/**
 * The first gVisor with the `systrap` platform, and in which statx(2) works. Debian 12's own is older; the one in its
 * backports is not.
 */
const RUNSC_CURRENT = 20230801;
const OLD_RUNSC = 'in it `ls`, `stat` and whatever else asks statx(2) fail, and system calls are slow';

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

function missingSystemPackages() {
  return SYSTEM_PACKAGES.filter(
    ({ file, directories }) => !directories.some((directory) => existsSync(join(directory, file))),
  ).map(({ name }) => name);
}

function installSystemPackages() {
  if (process.platform !== 'linux') {
    say('programs are isolated on Linux only; here the service can run with SERVICE_PROVIDER=subprocess alone');
    return;
  }
  installMissing(missingSystemPackages(), 'isolation, all languages and every test');
  if (isRunscOld()) upgradeRunsc();
}

/** Whether the first runsc in the search path is older than the wanted date. */
function isRunscOld() {
  const path = COMMAND_DIRECTORIES.map((directory) => join(directory, 'runsc')).find(existsSync);
  if (path === undefined) return false;
  try {
    const [date] = /\d{8}/.exec(execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 5000 })) ?? [];
    return date !== undefined && Number(date) < RUNSC_CURRENT;
  } catch {
    return false; // The service says why it cannot be used.
  }
}

/** Takes a newer runsc from the release's backports, if it has one. A runsc that apt did not install stays. */
function upgradeRunsc() {
  const plan = mayInstall() ? planBackport('runsc') : null;
  if (plan !== null) {
    say(`runsc is old (${OLD_RUNSC}): taking a newer one from ${plan.suite}`);
    attempt(`install runsc from ${plan.suite}`, () => installFromBackports(plan));
  }
  if (isRunscOld()) say(`runsc is old: ${OLD_RUNSC}; install one of ${RUNSC_CURRENT} or later`);
}

function installFromBackports({ sources, preferences }) {
  const files = [];
  const write = (name, text) => {
    const file = join('/etc', name);
    files.push(file);
    writeFileSync(file, text, { mode: 0o644 });
  };
  try {
    write(BACKPORTS_FILES.preferences, preferences);
    if (sources !== null) write(BACKPORTS_FILES.sources, sources);
    // Refreshes the lists of this one source alone: the others of apt stay as they are.
    const only = sources === null ? [] : ['-o', `Dir::Etc::SourceList=${files[1]}`, '-o', 'Dir::Etc::SourceParts=-'];
    aptGet('update', ...only, '-o', 'APT::Get::List-Cleanup=0', '--error-on=any');
    aptInstall('runsc');
  } catch (error) {
    // A broken entry would disturb every later `apt-get update` of the operator.
    for (const file of files) rmSync(file, { force: true });
    throw error;
  }
}

/** Without the compiled programs the service starts a runtime for each cell, which is correct but slower. */
function compileLauncher() {
  if (process.platform !== 'linux') return;
  try {
    if (buildLauncher(root)) say('built what starts cells');
  } catch (error) {
    say(
      `could not build everything that starts cells; crun or runsc is used instead: ${error.stderr ?? error.message}`,
    );
  }
}

try {
  // Scripts of packages may run the pinned Node, which needs its library first.
  installSystemPackages();
  installPackages();
  linkPinnedNode();
  checkNode();
  compileLauncher();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
