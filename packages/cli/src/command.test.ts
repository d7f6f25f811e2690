import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';

const place = mkdtempSync(join(tmpdir(), 'svc-command-'));
afterAll(() => rmSync(place, { recursive: true }));

const [programs, command] = [join(place, 'node_modules/.bin'), join(place, 'packages/cli/bin')];

/** Copies the command to a directory where this shell script replaces its Node. @returns the path of the copied command */
function commandBeside(node: string): string {
  for (const directory of [programs, command]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(programs, 'node'), `#!/bin/sh\n${node}\n`, { mode: 0o755 });
  copyFileSync(join(import.meta.dirname, '../bin/vouchbox'), join(command, 'vouchbox'));
  return join(command, 'vouchbox');
}

test('vouchbox starts its own Node: no inspector, a small space for new objects, and fast code after 100 calls', () => {
  const words = execFileSync(commandBeside('printf "%s\\n" "$@"'), ['serve', '--port', '0'], { encoding: 'utf8' });
  const compiling = ['--invocation-count-for-maglev=100', '--minimum-invocations-after-ic-update=100'];
  const options = ['--disable-sigusr1', '--max-semi-space-size=8', ...compiling];
  expect(words.trimEnd().split('\n')).toEqual([...options, join(command, 'vouchbox.mjs'), 'serve', '--port', '0']);
});

test('if a system library is missing, vouchbox names the library and the package to install', () => {
  const missing = 'error while loading shared libraries: libatomic.so.1: cannot open shared object file';
  const { status, stderr } = spawnSync(commandBeside(`echo "$0: ${missing}" >&2; exit 127`), ['run', 'a.py']);
  expect([status, stderr.toString()]).toEqual([
    125,
    expect.stringMatching(`^vouchbox: its Node does not start: ${missing}\n.* apt-get install libatomic1 `),
  ]);
});

test.each([
  [['run', 'x.py', '--minimum-isolation', 'strong'], 'none, linux-shared-kernel'],
  [['grade', 'x.py', '--tests', 'tests', '--minimum-isolation', 'strong'], 'none, linux-shared-kernel'],
  [['grade', 'x.py', '--tests', 'tests', '--compare', 'roughly'], 'lines, words, exact'],
  [['jobs', '--language', 'cobol'], 'python, node'],
  [['adapter', 'other'], 'piston, judge0, sandbox-fusion'],
  [['mcp', 'config', 'other'], 'claude, cursor, vscode'],
  [['completion', 'csh'], 'bash, zsh, fish'],
  [['mcp', '--http', '65536'], 'not a port'],
  [['adapter', 'piston', '--port', '-1'], 'not a port'],
])('%j exits with 2, and the message names the valid values or the mistake', (words, right) => {
  const { status, stderr } = spawnSync(join(import.meta.dirname, '../bin/vouchbox'), words, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([2, expect.stringContaining(right)]);
});

test.each([
  ['adapter', 'piston', '--port'],
  ['mcp', '--http'],
])('%j says in one line that its port is taken', async (...words) => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const service = ['--url', 'http://127.0.0.1:1', '--key', 'k'];
  const program = join(import.meta.dirname, '../bin/vouchbox');
  const { status, stderr } = spawnSync(program, [...words, String(port), ...service], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(`^vouchbox: cannot listen .*:${port}; give a port .*\n$`),
  ]);
});

test.each([[], ['jobs'], ['links']])('the help of %j says how to list the options of a command', (...words) => {
  const program = join(import.meta.dirname, '../bin/vouchbox');
  const { stdout } = spawnSync(program, [...words, '--help'], { encoding: 'utf8' });
  expect(stdout).toContain(`\n${['vouchbox', ...words].join(' ')} COMMAND --help lists the options of a command.\n`);
});
