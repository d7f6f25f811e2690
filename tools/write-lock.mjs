/**
 * `npm run lock`: writes package-lock.json and the lock of examples/ again from the package.json files. It works in an empty
 * directory, because npm lets installed packages affect a lock. The versions in the present locks are kept.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completeLock } from './complete-lock.mjs';

const root = join(import.meta.dirname, '..');

/** Writes the lock of a folder. */
function writeLock(folder) {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-lock-'));
  try {
    copyFileSync(join(root, '.npmrc'), join(scratch, '.npmrc'));
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(folder, file), join(scratch, file));
    copyWorkspaces(folder, scratch);
    execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: scratch, stdio: 'inherit' });
    const lock = JSON.parse(readFileSync(join(scratch, 'package-lock.json'), 'utf8'));
    const { added, impossible } = completeLock(lock);
    writeFileSync(join(folder, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`);
    process.stdout.write(`package-lock.json written; ${added.length} platform packages added that npm left out\n`);
    for (const missing of impossible) process.stderr.write(`cannot complete ${missing}\n`);
    if (impossible.length > 0) process.exitCode = 1;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function copyWorkspaces(folder, scratch) {
  const packages = join(folder, 'packages');
  for (const name of existsSync(packages) ? readdirSync(packages) : []) {
    mkdirSync(join(scratch, 'packages', name), { recursive: true });
    copyFileSync(join(packages, name, 'package.json'), join(scratch, 'packages', name, 'package.json'));
  }
}

writeLock(root);
writeLock(join(root, 'examples'));
