/** Python modules that our commands need. On Debian they are installed if this process may do that; elsewhere they are named. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { installMissing } from '../packages/server/setup/system-packages.mjs';

/** The system's Python, which has the system's packages. Another Python in PATH may lack them. */
export const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

/** The modules that build the wheel for clients/python, each with the package that has it. */
export const WHEEL_MODULES = [
  ['build', 'python3-build'],
  ['hatchling', 'python3-hatchling'],
];

function isThere([module]) {
  return spawnSync(PYTHON, ['-c', `import ${module}`], { stdio: 'ignore' }).status === 0;
}

/**
 * Installs the modules that are missing.
 * @param {readonly (readonly [module: string, debianPackage: string])[]} modules
 * @param {string} purpose completes "install … for"
 * @returns {boolean} whether all modules are there now
 */
export function installModules(modules, purpose) {
  const missing = modules.filter((module) => !isThere(module));
  installMissing(
    missing.map(([, name]) => name),
    purpose,
  );
  return missing.every(isThere);
}
