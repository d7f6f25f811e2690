import { expect, it } from 'vitest';
import { freshDirectory, plantPack, RECIPE } from '../packs/pack.fixture.ts';
import { openProvider } from './preflight.ts';

it('a pack without any language that runs is left out, and each reason is reported', async () => {
  const dataDirectory = freshDirectory();
  const packsDirectory = freshDirectory();
  plantPack(packsDirectory, { ...RECIPE, languages: ['python', 'bash'] });
  const options = {
    choice: 'namespace',
    instance: dataDirectory,
    packsDirectory,
    workBytes: 2 ** 20,
    hostPostureSha256: null,
  } as const;
  const { provider, packsLeftOut } = await openProvider(options);
  await using _ = provider;
  expect(provider.runtime_packs.map(({ name }) => name)).toEqual(['system']);
  expect(packsLeftOut).toEqual([
    { pack: 'tiny 1', problem: expect.stringMatching(/^python: /) },
    { pack: 'tiny 1', problem: expect.stringMatching(/^bash: .*cannot start \/bin\/bash/) },
  ]);
});
