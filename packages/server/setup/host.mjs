/**
 * Installs the things that a host needs beyond npm's packages: runtimes and interpreters from the system's packages,
 * and the programs that start cells, which a checkout compiles. If this process may not install something, it names
 * what is missing. If nothing is missing, it prints nothing. This file runs on any Node from 18 on.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { BACKPORTS_FILES, planBackport } from './backports.mjs';
import { areNativesBrought, buildNatives } from './build-natives.mjs';
import { aptGet, aptInstall, attempt, installMissing, mayInstall, say } from './system-packages.mjs';

/** Where system packages put their commands; a version manager's shims in PATH are of no use in a cell. */
const COMMAND_DIRECTORIES = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const LIBRARY_DIRECTORIES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'];
const HEADER_DIRECTORIES = ['/usr/include', '/usr/include/x86_64-linux-gnu', '/usr/include/aarch64-linux-gnu'];

/** The path of the file in each of these directories. */
function anyOf(directories, file) {
  return directories.map((directory) => join(directory, file));
}

/** Packages of Debian and Ubuntu. Any one of the `files` shows that the package is installed. */
const SYSTEM_PACKAGES = [
  { name: 'libatomic1', files: anyOf(LIBRARY_DIRECTORIES, 'libatomic.so.1') },
  { name: 'crun', files: anyOf(COMMAND_DIRECTORIES, 'crun') },
  { name: 'runsc', files: anyOf(COMMAND_DIRECTORIES, 'runsc') },
  { name: 'python3', files: anyOf(COMMAND_DIRECTORIES, 'python3') },
  { name: 'perl-base', files: anyOf(COMMAND_DIRECTORIES, 'perl') },
  { name: 'mmdebstrap', files: anyOf(COMMAND_DIRECTORIES, 'mmdebstrap') },
];

/** The system packages that compile the programs that start cells. Our npm package already contains the compiled programs. */
const COMPILER_PACKAGES = [
  { name: 'gcc', files: anyOf(COMMAND_DIRECTORIES, 'cc') },
  { name: 'libc6-dev', files: anyOf(HEADER_DIRECTORIES, 'stdio.h') },
  { name: 'libseccomp-dev', files: anyOf(HEADER_DIRECTORIES, 'seccomp.h') },
];

/**
 * The first gVisor that has the `systrap` platform and in which statx(2) works. Debian 12 itself has an older gVisor;
 * its backports have a newer one.
 */
const RUNSC_CURRENT = 20230801;
const OLD_RUNSC = '`ls`, `stat` and other programs that call statx(2) fail in it, and system calls are slow';

/**
 * Installs the missing packages: those that the service needs, and those of `more`.
 * @param {readonly { name: string, files: readonly string[] }[]} more further packages
 * @param {string} purpose what all of them are for: completes "install … for"
 */
export function installSystemPackages(more, purpose) {
  if (process.platform !== 'linux') {
    say('programs are isolated on Linux only; here the service can run with SERVICE_PROVIDER=subprocess alone');
    return;
  }
  const needed = [...SYSTEM_PACKAGES, ...(areNativesBrought() ? [] : COMPILER_PACKAGES), ...more];
  const missing = needed.filter(({ files }) => !files.some((file) => existsSync(file)));
  installMissing(
    missing.map(({ name }) => name),
    purpose,
  );
  if (isRunscOld()) upgradeRunsc();
}

/** Whether the first runsc in the search path is older than the wanted date. */
function isRunscOld() {
  const path = anyOf(COMMAND_DIRECTORIES, 'runsc').find(existsSync);
  if (path === undefined) return false;
  try {
    const [date] = /\d{8}/.exec(execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 5000 })) ?? [];
    return date !== undefined && Number(date) < RUNSC_CURRENT;
  } catch {
    return false; // The service says why runsc cannot be used.
  }
}

/** Takes a newer runsc from the release's backports, if they have one. A runsc that apt did not install stays. */
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
    // Refreshes only the lists of this one source: the lists of apt's other sources stay as they are.
    const only = sources === null ? [] : ['-o', `Dir::Etc::SourceList=${files[1]}`, '-o', 'Dir::Etc::SourceParts=-'];
    aptGet('update', ...only, '-o', 'APT::Get::List-Cleanup=0', '--error-on=any');
    aptInstall('runsc');
  } catch (error) {
    // A broken entry that stayed would disturb every later `apt-get update` of the operator.
    for (const file of files) rmSync(file, { force: true });
    throw error;
  }
}

/** Compiles the programs that make cells, if they are missing or outdated. An installed package already has them. */
export function compileNatives() {
  if (process.platform !== 'linux' || areNativesBrought()) return;
  try {
    if (buildNatives()) say('built what starts cells');
  } catch (error) {
    say(
      'could not build everything that makes cells: without svc-init and svc-stage no runtime is offered, and without ' +
        'svc-launcher crun is started for each cell, which takes longer: ' +
        `${String(error.stderr || error.message).trim()}`,
    );
  }
}
