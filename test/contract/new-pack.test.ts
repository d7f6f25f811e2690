/** A runtime pack that is built while the service runs: once it has proved itself, it is offered without a restart. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { announceService } from '@vouchbox/server/administration';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const { packs: built } = await shippedPacks(['lua']);
const packs = mkdtempSync(join(tmpdir(), 'svc-new-pack-'));
afterAll(() => rmSync(packs, { recursive: true }));

describe('a running service', () => {
  const rig = useRig({ provider: 'namespace', 'runtime-packs-dir': packs });
  let announced: Disposable;
  beforeAll(() => {
    announced = announceService({ dataDir: rig().dataDir, databaseUrl: null, runtimePacksDir: packs });
  });
  afterAll(() => announced[Symbol.dispose]());
  const build = async () => {
    const ended = await vouchbox(['packs', 'build', 'lua', '--json', '--runtime-packs-dir', packs]);
    return { ...ended, services: JSON.parse(ended.stdout).services as unknown };
  };
  const submitted = { language: 'lua', code: 'print(6 * 7)' } as const;

  test('refuses the language of a missing pack, and names the available ones', async () => {
    await expect(rig().alpha.client.submit(submitted)).rejects.toMatchObject({
      code: 'runtime_unavailable',
      message: expect.stringMatching(/^\/language lua .*; it has python, /),
    });
  });

  test('leaves out a pack whose files differ from its manifest', async () => {
    cpSync(join(built, 'lua'), join(packs, 'lua'), { recursive: true, verbatimSymlinks: true });
    const [version = ''] = readdirSync(join(packs, 'lua'));
    const file = join(packs, 'lua', version, 'tree/etc/environment');
    const content = readFileSync(file);
    writeFileSync(file, Buffer.concat([content, Buffer.from('SPOILT=1\n')]));
    const { code, stderr } = await vouchbox(['packs', 'build', 'lua', '--runtime-packs-dir', packs]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('was changed')]);
    expect((await rig().alpha.client.capabilities()).languages).not.toContain('lua');
    writeFileSync(file, content);
  });

  test('offers a pack once vouchbox packs build reports it as offered, and runs its language', async () => {
    const { code, services } = await build();
    expect([code, services]).toEqual([0, [{ data_dir: rig().dataDir, offered: true, problem: null }]]);
    const { languages, runtime_packs } = await rig().alpha.client.capabilities();
    expect(languages).toContain('lua');
    expect(runtime_packs.map(({ name }) => name)).toEqual(['system', 'lua']);
    expect((await rig().run(submitted)).result).toMatchObject({ status: 'succeeded', stdout: '42\n' });
  });

  test('still offers a pack when the pack is built again', async () => {
    const { code, services } = await build();
    expect([code, services]).toEqual([0, [{ data_dir: rig().dataDir, offered: true, problem: null }]]);
    expect((await rig().alpha.client.capabilities()).runtime_packs).toHaveLength(2);
    expect((await rig().run(submitted)).result).toMatchObject({ stdout: '42\n' });
  });
});
