/** Builds and packs every package, once for all trials, in a directory that is removed at the end. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildPackages } from '../../tools/packages/build-packages.ts';

export interface Tarball {
  /** Name of the package. */
  readonly name: string;
  readonly version: string;
  /** Path of the .tgz file. */
  readonly path: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    tarballs: readonly Tarball[];
  }
}

export default async function setUp(project: TestProject): Promise<() => void> {
  const scratch = mkdtempSync(join(tmpdir(), 'vouchbox-packages-'));
  try {
    const built = await buildPackages(join(scratch, 'packages'));
    project.provide(
      'tarballs',
      built.map(({ name, version, directory }) => {
        const words = ['pack', '--silent', '--pack-destination', scratch];
        const file = execFileSync('npm', words, { cwd: directory, encoding: 'utf8' }).trim();
        return { name, version, path: join(scratch, file) };
      }),
    );
  } catch (error) {
    rmSync(scratch, { recursive: true, force: true });
    throw error;
  }
  return () => rmSync(scratch, { recursive: true, force: true });
}
