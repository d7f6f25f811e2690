/**
 * `npm run python`: the tests of clients/python against the real service, and its types. On Debian it installs what they
 * need where it may; elsewhere it names it. Words after `--` go to pytest.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { installMissing, say } from '../packages/server/setup/system-packages.mjs';

const project = join(import.meta.dirname, '../clients/python');
/** The system's Python has the system's packages; another one in PATH may not. */
const python = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const PYRIGHT = 'pyright@1.1.414';

/** Modules that the tests need, and the packages that have them. */
const MODULES = [
  ['httpx', 'python3-httpx'],
  ['pytest', 'python3-pytest'],
  ['build', 'python3-build'],
  ['hatchling', 'python3-hatchling'],
  ['ensurepip', 'python3-venv'],
];

function isThere(module) {
  return spawnSync(python, ['-c', `import ${module}`], { stdio: 'ignore' }).status === 0;
}

function runs(command, words) {
  return spawnSync(command, words, { cwd: project, stdio: 'inherit' }).status === 0;
}

/** Pyright is fetched when it is wanted, and is not a dependency of the service. */
function checkTypes() {
  const words = ['exec', '--yes', `--package=${PYRIGHT}`, '--', 'pyright'];
  try {
    execFileSync('npm', [...words, '--version'], { cwd: project, stdio: 'ignore' });
  } catch {
    say(`${PYRIGHT} cannot be fetched: the types of clients/python were NOT checked`);
    return true;
  }
  return runs('npm', [...words, '--pythonpath', python]);
}

installMissing(
  MODULES.filter(([module]) => !isThere(module)).map(([, name]) => name),
  'the tests of clients/python',
);
const hasPassed = runs(python, ['-m', 'pytest', ...process.argv.slice(2)]);
const isTyped = checkTypes();
process.exitCode = hasPassed && isTyped ? 0 : 1;
