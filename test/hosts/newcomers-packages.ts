/** What a machine without a network needs to install the packages: the tarballs, and an npm store with their dependencies. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackages } from '../../tools/packages/build-packages.ts';

/** Debian 12's npm. It also fills the store, because it would not find packages that a later npm stored. */
const DEBIANS_NPM = 'npm@9.2.0';

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
    const install = ['install', '--no-audit', '--no-fund', '--silent'];
    execFileSync('npm', [...install, '--prefix', work, DEBIANS_NPM]);
    const folder = mkdtempSync(join(tmpdir(), 'newcomers-folder-'));
    const words = [...install, '--cache', join(made, 'npm'), ...globSync(join(made, '*.tgz'))];
    execFileSync(join(work, 'node_modules/.bin/npm'), words, { cwd: folder });
    rmSync(folder, { recursive: true, force: true });
    // npm finds a stored package only under the registry from which the package came.
    writeFileSync(
      join(made, '.npmrc'),
      `registry=${execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' })}`,
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return made;
}
