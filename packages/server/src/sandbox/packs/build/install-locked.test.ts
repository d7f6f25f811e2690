/** Locked packages, installed for real by this host's pip and npm into trees that no package manager made. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freshDirectory, plantTree } from '../pack.fixture.ts';
import { installLocked } from './install-locked.ts';
import { INICONFIG, IS_NUMBER, lockfile, requirements } from './locked.fixture.ts';
import type { Recipe } from './recipe.ts';

/** pip and npm try again where a digest is wrong, which takes ten seconds each. */
const isEvery = process.env['PACKS'] === 'all';
const PYTHON = { 'usr/bin/python3.11': 'python' };

async function install(locked: Recipe['locked'], more: Readonly<Record<string, string>> = PYTHON): Promise<string> {
  const directory = freshDirectory();
  const work = join(directory, 'work');
  mkdirSync(work);
  const tree = plantTree(join(directory, 'tree'), more);
  await installLocked({ recipe: locked === undefined ? {} : { locked }, tree, work, proxies: {}, onLine: () => {} });
  return join(tree, 'usr/local/lib');
}

describe('locked packages', () => {
  it('are where Python and Node of a pack look for them', async () => {
    const library = await install({ requirements: requirements(INICONFIG), npm_lockfile: lockfile(IS_NUMBER) });
    const read = (path: string) => readFileSync(join(library, path), 'utf8');
    expect(read('python3.11/dist-packages/iniconfig/__init__.py')).toContain('class IniConfig');
    expect(read('node_modules/is-number/index.js')).toContain('module.exports');
  });

  it.runIf(isEvery)('are refused if a wheel has another digest', async () => {
    await expect(install({ requirements: requirements('a'.repeat(64)) })).rejects.toThrow(/pip failed|python3 failed/);
  });

  it.runIf(isEvery)('are refused if a package of npm has another digest', async () => {
    const other = `sha512-${'A'.repeat(86)}==`;
    await expect(install({ npm_lockfile: lockfile(other) })).rejects.toThrow(/npm failed.*EINTEGRITY/);
  });

  it('are refused where a link of the tree would lead them elsewhere', async () => {
    const led = install({ npm_lockfile: lockfile(IS_NUMBER) }, { 'usr/local': '→/tmp' });
    await expect(led).rejects.toThrow('leads through something that is not a directory');
  });

  it('are refused in a pack without Python', async () => {
    await expect(install({ requirements: requirements(INICONFIG) }, {})).rejects.toThrow('need one Python');
  });
}, 60_000);
