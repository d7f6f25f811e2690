import { mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadPacks } from './load-packs.ts';
import { freshDirectory, plantPack, RECIPE } from './pack.fixture.ts';
import { listPacks, newestPacks, packPlaces, removePack, requirePack } from './pack-store.ts';

function packsWith(...versions: string[]): string {
  const packs = freshDirectory();
  for (const version of versions) plantPack(packs, { ...RECIPE, version });
  return packs;
}

describe('the packs directory', () => {
  it('lists versions in natural order', () => {
    const packs = packsWith('1.10', '1.9', '1.9.1');
    expect(listPacks(packs).map(({ version }) => version)).toEqual(['1.9', '1.9.1', '1.10']);
    expect(newestPacks(packs).map(({ version }) => version)).toEqual(['1.10']);
    expect(requirePack(packs, 'tiny', null).directory).toBe(join(packs, 'tiny', '1.10'));
    expect(requirePack(packs, 'tiny', '1.9').directory).toBe(join(packs, 'tiny', '1.9'));
  });

  it('lists no pack if the directory does not exist, and ignores entries that are not named like packs', () => {
    expect(listPacks('/nonexistent')).toEqual([]);
    const packs = packsWith('1');
    mkdirSync(join(packs, '.build-1-x-1'));
    mkdirSync(join(packs, 'UPPER'));
    expect(listPacks(packs)).toHaveLength(1);
  });

  it('lists an unusable pack with the reason', () => {
    const packs = packsWith('1');
    renameSync(join(packs, 'tiny/1'), join(packs, 'tiny/2'));
    expect(listPacks(packs)).toMatchObject([
      { facts: null, problem: expect.stringContaining('holds another pack: tiny 1') },
    ]);
  });

  it.each(['..', '.', 'a/b', '', 'A', 'a\0'])('knows no pack named %j', (name) => {
    expect(() => packPlaces('/packs', name, '1')).toThrow('is not a name of a pack');
    expect(() => packPlaces('/packs', 'tiny', `${name}/`)).toThrow('is not a version of a pack');
  });

  it('keeps nothing of a removed version, and drops a pack’s name together with its last version', () => {
    const packs = packsWith('1', '2');
    removePack(packs, 'tiny', null);
    expect(listPacks(packs).map(({ version }) => version)).toEqual(['1']);
    removePack(packs, 'tiny', '1');
    expect(readdirSync(packs).filter((name) => !name.startsWith('.built'))).toEqual([]);
    expect(() => removePack(packs, 'tiny', null)).toThrow('there is no runtime pack tiny');
  });

  it('gives a service the newest version of each pack, and reports the packs that are left out', () => {
    const packs = packsWith('1', '2');
    plantPack(packs, { ...RECIPE, name: 'other', environment: { A: 'b' } });
    mkdirSync(join(packs, 'linked'));
    symlinkSync(join(packs, 'other/1'), join(packs, 'linked/1'));
    const { packs: loaded, leftOut } = loadPacks(packs);
    expect(loaded.map(({ name, version, environment }) => ({ name, version, environment }))).toEqual([
      { name: 'other', version: '1', environment: ['A=b'] },
      { name: 'tiny', version: '2', environment: [] },
    ]);
    expect(leftOut).toEqual([{ pack: 'linked 1', problem: expect.stringContaining('is a symbolic link') }]);
  });
});
