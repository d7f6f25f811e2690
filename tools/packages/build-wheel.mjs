/** The last part of `npm run build`: writes the wheel for clients/python to dist/python, and says what comes next. */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { say } from '../../packages/server/setup/system-packages.mjs';
import { installModules, PYTHON, WHEEL_MODULES } from '../python-modules.mjs';

const root = join(import.meta.dirname, '../..');
const directory = join(root, 'dist/python');

rmSync(directory, { recursive: true, force: true });
if (installModules(WHEEL_MODULES, 'the wheel of clients/python')) {
  // Debian's hatchling lacks a module that only editable installations need.
  const how = ['--wheel', '--no-isolation', '--skip-dependency-check'];
  const words = ['-m', 'build', ...how, '--outdir', directory, 'clients/python'];
  execFileSync(PYTHON, words, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const name of readdirSync(directory)) process.stdout.write(`${join(directory, name)}\n`);
} else {
  say('the wheel of clients/python was not built');
}
process.stdout.write(`Tarballs of the packages: (cd ${join(root, 'dist')} && npm pack ./packages/*)\n`);
