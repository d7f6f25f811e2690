/** What a machine without a network needs to install the packages: the tarballs, and a store of npm with the rest. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackages } from '../../tools/packages/build-packages.ts';

/** Installs the packages once here, so that npm's store has everything. @returns the directory `newcomer` */
export async function newcomersPackages(cache: string): Promise<string> {
  const made = join(cache, 'newcomer');
  const work = mkdtempSync(join(cache, 'newcomer-work-'));
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made);
  try {
    for (const { directory } of await buildPackages(join(work, 'packages'))) {
      execFileSync('npm', ['pack', '--silent', '--pack-destination', made], { cwd: directory });
    }
    const words = ['install', '--no-audit', '--no-fund', '--silent', '--cache', join(made, 'npm')];
    const folder = mkdtempSync(join(tmpdir(), 'newcomers-folder-'));
    execFileSync('npm', [...words, ...globSync(join(made, '*.tgz'))], { cwd: folder });
    rmSync(folder, { recursive: true, force: true });
    // npm finds what it stored by where that came from.
    writeFileSync(
      join(made, '.npmrc'),
      `registry=${execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' })}`,
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return made;
}
