import { expect, it } from 'vitest';
import { freshDirectory, plantPack, RECIPE } from '../pack.fixture.ts';
import { buildPack } from './build-pack.ts';

function build(packs: string, changes: object = {}) {
  const lines: string[] = [];
  return buildPack({ recipe: { ...RECIPE, ...changes }, packs, proxies: {}, onLine: (line) => lines.push(line) });
}

it('an unchanged recipe is not built a second time', async () => {
  const packs = freshDirectory();
  plantPack(packs);
  await expect(build(packs)).resolves.toMatchObject({ isNew: false, facts: { name: 'tiny', version: '1' } });
});

it('a changed recipe is refused if a pack with its name and version exists', async () => {
  const packs = freshDirectory();
  plantPack(packs);
  await expect(build(packs, { languages: ['bash', 'python'] })).rejects.toThrow('was built from another recipe');
});
