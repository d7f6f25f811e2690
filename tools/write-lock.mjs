/**
 * `npm run lock`: writes package-lock.json anew from the package.json files. It resolves in an empty directory, because
 * npm lets installed packages leak into a lock. Versions of the present lock are kept.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completeLock } from './complete-lock.mjs';

const root = join(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'svc-lock-'));

try {
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(root, file), join(scratch, file));
  for (const name of readdirSync(join(root, 'packages'))) {
    mkdirSync(join(scratch, 'packages', name), { recursive: true });
    copyFileSync(join(root, 'packages', name, 'package.json'), join(scratch, 'packages', name, 'package.json'));
  }
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: scratch, stdio: 'inherit' });
  const lock = JSON.parse(readFileSync(join(scratch, 'package-lock.json'), 'utf8'));
  const { added, impossible } = completeLock(lock);
  writeFileSync(join(root, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(`package-lock.json written; ${added.length} platform packages added that npm left out\n`);
  for (const missing of impossible) process.stderr.write(`cannot complete ${missing}\n`);
  if (impossible.length > 0) process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
