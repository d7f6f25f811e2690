/** The test files of CPython's own suite, from Debian's `libpython3.11-testsuite`. Each file is one program. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { LARGEST_LIMITS, type TriedProgram } from './program.ts';

const TESTSUITE_PACKAGE = 'libpython3.11-testsuite';
const DIRECTORY = '/usr/lib/python3.11/test';
const PYTHON = '/usr/bin/python3.11';
/** How the run of a test file ends if the file skipped all of its tests. */
export const SKIPPED = 'exit 77';

/** The programs that use the system most: its files, processes, terminals, memory, sockets and time. */
const CHOSEN = `
  argparse atexit bz2 calendar cmd_line cmd_line_script contextlib csv ctypes datetime dbm dbm_dumb
  dbm_gnu dbm_ndbm docxmlrpc epoll eintr fcntl file file_eintr fileinput fileio filecmp fork1 ftplib genericpath getpass
  glob grp gzip hashlib httplib httpservers imaplib import io ioctl json largefile linecache locale logging lzma mailbox
  marshal memoryview mimetypes mmap netrc openpty os pathlib pickle pipes platform poll poplib popen posix posixpath pty
  pwd py_compile queue random readline repl resource runpy sched select selectors shelve shlex shutil signal site smtplib
  smtpnet socket socketserver sqlite3 ssl stat struct subprocess sys sysconfig tarfile telnetlib tempfile thread threading
  threadsignals time timeit tty unicodedata urllib urllib2 urllib2_localnet uuid venv wait3 wait4 wsgiref xml_etree xmlrpc
  zipfile zipimport zlib zoneinfo
`
  .trim()
  .split(/\s+/)
  .map((name) => `test_${name}`);

/** The chosen files, or all of them. Empty if the package is not installed. */
export function cpythonPrograms(choice: 'chosen' | 'all'): readonly TriedProgram[] {
  const wanted = presentTests().filter((name) => choice === 'all' || CHOSEN.includes(name));
  return wanted.map(programOf);
}

/** The installed test files. Debian's Python itself installs only a few of them into this directory. */
export function presentTests(): readonly string[] {
  if (!existsSync(DIRECTORY)) return [];
  const tests = readdirSync(DIRECTORY).filter((name) => /^test_\w+(\.py)?$/.test(name));
  return tests.map((name) => name.replace('.py', '')).toSorted();
}

/**
 * A file whose tests were all skipped does not count as passed. Some tests check how Python buffers its output, so they run
 * without the settings of a cell.
 */
function programOf(name: string): TriedProgram {
  const code = `env -u PYTHONUNBUFFERED ${PYTHON} -m test -v ${name} >log 2>&1; code=$?; tail -c 60000 log
    ran=$(grep -oP '^Ran \\K[0-9]+' log | tail -1); skipped=$(grep -P '^OK\\b' log | tail -1 | grep -oP 'skipped=\\K[0-9]+')
    if [ $code = 0 ] && [ "\${ran:-0}" -le "\${skipped:-0}" ]; then ${SKIPPED}; fi; exit $code`;
  return {
    name: `cpython/${name}`,
    language: 'bash',
    code,
    needs: [PYTHON, DIRECTORY],
    compared: 'verdict',
    limits: LARGEST_LIMITS,
  };
}

/** Test files that test the interpreter that runs them: its start, signals, threads and end. */
const OF_THE_INTERPRETER = 'atexit code ctypes faulthandler fork1 gc os pty signal site sys sysconfig thread threading'
  .split(' ')
  .map((name) => `test_${name}`);

/**
 * These test files as Python programs of a job. The interpreter of a job may be a fork, and must behave like any other
 * interpreter. Empty if the package is not installed.
 */
export function interpreterPrograms(): readonly TriedProgram[] {
  const present = new Set(presentTests());
  return OF_THE_INTERPRETER.filter((name) => present.has(name)).map((name) => ({
    name: `python/${name}`,
    language: 'python',
    code: [
      "if __name__ == '__main__':",
      '  import os, sys',
      "  os.environ.pop('PYTHONUNBUFFERED', None)",
      `  sys.argv = [sys.argv[0], '-W', '${name}']`,
      '  from test.libregrtest import main',
      '  main()',
    ].join('\n'),
    needs: [PYTHON, DIRECTORY],
    compared: 'verdict',
    limits: LARGEST_LIMITS,
  }));
}

/** Installs the tests if possible, and else names the missing package. */
export function installTestsuite(say: (line: string) => void): void {
  if (cpythonPrograms('all').length > 0) return;
  const command = ['apt-get', 'install', '-y', '--no-install-recommends', TESTSUITE_PACKAGE];
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) {
    say(`CPython's tests are left out: on Debian, as root, \`${command.join(' ')}\` brings them.`);
    return;
  }
  say(`+ ${command.join(' ')}`);
  execFileSync('/usr/bin/apt-get', command.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
}
