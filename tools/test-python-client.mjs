/**
 * `npm run python`: runs the tests of clients/python against the real service, and checks its types. On Debian it installs
 * missing modules if it may do that; elsewhere it names them. Arguments after `--` go to pytest.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { say } from '../packages/server/setup/system-packages.mjs';
import { installModules, PYTHON, WHEEL_MODULES } from './python-modules.mjs';

const project = join(import.meta.dirname, '../clients/python');
const PYRIGHT = 'pyright@1.1.414';

/** Modules that the tests need, and the packages that have them. */
const MODULES = [
  ['httpx', 'python3-httpx'],
  ['pytest', 'python3-pytest'],
  ...WHEEL_MODULES,
  ['ensurepip', 'python3-venv'],
];

function runs(command, words) {
  return spawnSync(command, words, { cwd: project, stdio: 'inherit' }).status === 0;
}

/** Checks the types with Pyright. It is fetched for this and is no dependency of the service. */
function checkTypes() {
  const words = ['exec', '--yes', `--package=${PYRIGHT}`, '--', 'pyright'];
  try {
    execFileSync('npm', [...words, '--version'], { cwd: project, stdio: 'ignore' });
  } catch {
    say(`${PYRIGHT} cannot be fetched: the types of clients/python were NOT checked`);
    return true;
  }
  return runs('npm', [...words, '--pythonpath', PYTHON]);
}

installModules(MODULES, 'the tests of clients/python');
const hasPassed = runs(PYTHON, ['-m', 'pytest', ...process.argv.slice(2)]);
const isTyped = checkTypes();
process.exitCode = hasPassed && isTyped ? 0 : 1;
