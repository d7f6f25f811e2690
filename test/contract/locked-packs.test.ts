/**
 * A pack with a wheel and an npm package, built from a recipe with two locked lists and used by jobs in both classes.
 * Building it takes a minute, so only `npm run packs` builds it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { buildPack } from '../../packages/server/src/sandbox/packs/build/build-pack.ts';
import {
  INICONFIG,
  IS_NUMBER,
  lockfile,
  requirements,
} from '../../packages/server/src/sandbox/packs/build/locked.fixture.ts';
import { readRecipe } from '../../packages/server/src/sandbox/packs/build/recipe.ts';
import { hasEveryPack } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-locked-packs-'));
const packs = join(directory, 'packs');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

if (hasEveryPack) {
  const recipe = {
    name: 'locked',
    version: '1',
    languages: ['python', 'node'],
    suite: 'bookworm',
    packages: [],
    python_requirements: 'requirements.txt',
    npm_lockfile: 'package-lock.json',
  };
  writeFileSync(join(directory, 'locked.json'), JSON.stringify(recipe));
  writeFileSync(join(directory, 'requirements.txt'), requirements(INICONFIG));
  writeFileSync(join(directory, 'package-lock.json'), lockfile(IS_NUMBER));
  await buildPack({ recipe: readRecipe(join(directory, 'locked.json')), packs, proxies: {}, onLine: () => {} });
}

describe.runIf(hasEveryPack).each(['namespace', 'gvisor'])('in the class of %s', (provider) => {
  const rig = useRig({ provider, 'runtime-packs-dir': packs });

  test.each([
    ['python', 'import iniconfig; print(iniconfig.IniConfig.__name__)', 'IniConfig\n'],
    ['node', "console.log(require('is-number')(5))", 'true\n'],
  ] as const)('a program in %s loads a locked package', async (language, code, stdout) => {
    const { result } = await rig().run({ language, code, runtime: 'locked' });
    expect([result.stderr, result.stdout, result.status]).toEqual(['', stdout, 'succeeded']);
  });
});
