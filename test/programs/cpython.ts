/** The test files of CPython's own suite, as Debian's `libpython3.11-testsuite` has them: one program each. */
import { existsSync, readdirSync } from 'node:fs';
import { LARGEST_LIMITS, type TriedProgram } from './program.ts';

export const TESTSUITE_PACKAGE = 'libpython3.11-testsuite';
const DIRECTORY = '/usr/lib/python3.11/test';
const PYTHON = '/usr/bin/python3.11';

/** Those that ask most of the system around them: files, processes, terminals, memory, sockets, time. */
const CHOSEN = `
  abc argparse array asyncgen atexit bisect bool builtin bz2 calendar charmapcodec class cmath cmd_line cmd_line_script
  codecs codeop collections compileall configparser contextlib copy csv ctypes datetime dbm dbm_dumb dbm_gnu dbm_ndbm
  decimal dict difflib dis docxmlrpc doctest enum epoll eintr exceptions fcntl file file_eintr fileinput fileio
  filecmp float fnmatch fork1 fstring ftplib functools gc generators genericpath getopt getpass gettext glob grp gzip
  hashlib heapq hmac httplib httpservers imaplib import importlib inspect io ioctl ipaddress itertools json kqueue
  largefile list locale logging lzma mailbox marshal math memoryview mimetypes mmap multiprocessing_fork
  multiprocessing_spawn netrc openpty ordered_dict os pathlib pickle pipes pkgutil platform poll poplib popen posix
  posixpath pprint pty pwd py_compile queue quopri random re readline regrtest repl resource runpy sched select
  selectors set shelve shlex shutil signal site smtplib smtpnet socket socketserver sqlite3 ssl stat statistics str
  strftime struct subprocess sys sys_settrace sysconfig sysvipc tarfile telnetlib tempfile textwrap thread threading
  threadsignals time timeit tty tuple types unicodedata unittest urllib urllib2 urllib2_localnet uu uuid venv wait3 wait4
  warnings weakref wsgiref xml_etree xmlrpc zipfile zipimport zlib zoneinfo asyncio
`
  .trim()
  .split(/\s+/)
  .map((name) => `test_${name}`);

/** The chosen files, or every one. Empty where the package is not installed. */
export function cpythonPrograms(choice: 'chosen' | 'all'): readonly TriedProgram[] {
  if (!existsSync(DIRECTORY)) return [];
  const present = readdirSync(DIRECTORY)
    .filter((name) => /^test_\w+(\.py)?$/.test(name))
    .map((name) => name.replace('.py', ''))
    .toSorted();
  return present.filter((name) => choice === 'all' || CHOSEN.includes(name)).map(programOf);
}

/** A file whose every test was skipped did not pass: there is nothing that it showed. */
function programOf(name: string): TriedProgram {
  const code = `${PYTHON} -m test ${name} >log 2>&1; code=$?; tail -c 60000 log
    if [ $code = 0 ] && grep -qE '^${name} skipped|^Result: NO TESTS RAN|NO TEST RUN' log; then exit 77; fi; exit $code`;
  return {
    name: `cpython/${name}`,
    language: 'bash',
    code,
    needs: [PYTHON, DIRECTORY],
    compared: 'verdict',
    limits: LARGEST_LIMITS,
  };
}
