/** Installs packages of Debian and Ubuntu if this process may, else names them. It runs on any Node from 18 on. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';

/** One line about the set-up, on stderr. */
export function say(line) {
  process.stderr.write(`setup: ${line}\n`);
}

/** Whether this process may install packages: it is root, on a system with apt. */
export function mayInstall() {
  return process.getuid() === 0 && isDebianLike();
}

function isDebianLike() {
  if (!existsSync('/etc/os-release') || !existsSync('/usr/bin/apt-get')) return false;
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(readFileSync('/etc/os-release', 'utf8'));
}

export function aptGet(...words) {
  execFileSync('/usr/bin/apt-get', ['-qq', '-o', 'Acquire::Retries=3', '-o', 'DPkg::Lock::Timeout=120', ...words], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    // apt's progress is not shown; its errors come on its stderr.
    stdio: ['ignore', 'ignore', 2],
  });
}

export function aptInstall(name) {
  aptGet('install', '-y', '--no-install-recommends', name);
}

/**
 * Installs these packages, or says that they are needed for something.
 * @param {readonly string[]} missing their names; if the list is empty, nothing is done
 * @param {string} purpose completes "install … for"
 */
export function installMissing(missing, purpose) {
  if (missing.length === 0) return;
  const words = missing.join(' ');
  if (!mayInstall()) {
    say(`install ${words} for ${purpose} (Debian, Ubuntu: apt-get install --no-install-recommends ${words})`);
    return;
  }
  say(`installing ${words} with apt-get`);
  attempt('refresh its package lists', () => aptGet('update'));
  // One at a time, so that a release without one of these packages still gets the others.
  for (const name of missing) attempt(`install ${name}`, () => aptInstall(name));
}

/** A failed installation is reported, not fatal: the service offers what it finds, and tests name what is missing. */
export function attempt(deed, work) {
  try {
    work();
  } catch (error) {
    say(`apt-get could not ${deed} (${error.message}); what needs it will not be offered`);
  }
}
