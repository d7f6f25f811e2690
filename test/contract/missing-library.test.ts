/** The list of a pack's libraries, and the remark about a program that imports a missing library. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, test } from 'vitest';
import { BUILD_MILLISECONDS_MAX, packsOf } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { TINY } from '../../packages/server/src/sandbox/packs/tiny-pack.fixture.ts';
import { commandFile, vouchbox } from '../rig/command.ts';
import { useRig } from '../rig/rig.ts';

const { packs } = await packsOf([TINY]);

describe('a service with a pack of libraries', { timeout: BUILD_MILLISECONDS_MAX }, () => {
  const rig = useRig({ provider: 'namespace', 'runtime-packs-dir': packs });
  const run = (code: string, ...words: string[]) =>
    vouchbox(['run', '-', ...words], {
      stdin: code,
      env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key },
    });

  test('lists the libraries of the pack with the names that programs import', { tags: ['Bodies-7a'] }, async () => {
    const { runtime_packs } = await rig().alpha.client.capabilities();
    const [system, pack] = runtime_packs;
    expect(system?.libraries).toBeUndefined();
    const slugify = pack?.libraries?.find(({ modules }) => modules.includes('slugify'));
    expect(slugify).toEqual({ language: 'python', name: 'python-slugify', version: '4.0.0', modules: ['slugify'] });
  });

  test('makes `vouchbox run` say which pack has the library that a program failed to import', async () => {
    const missed = await run('import slugify', '--language', 'python');
    expect(missed.code).toBe(1);
    expect(missed.stderr).toMatch(/^vouchbox: slugify is in a pack: --runtime tiny$/m);
    expect(await run('import slugify', '--language', 'python', '--runtime', TINY.name)).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  test('makes the MCP tool run_code list the libraries in its description', async () => {
    const env = { PATH: process.env['PATH'] ?? '', SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key };
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StdioClientTransport({ command: commandFile, args: ['mcp'], env, stderr: 'pipe' }));
    const { tools } = await client.listTools();
    await client.close();
    const description = tools.find(({ name }) => name === 'run_code')?.description;
    expect(description).toMatch(/^libraries of tiny: .*python-slugify 4\.0\.0 \(import slugify\)/m);
  });

  test.each([
    ['python', 'import torch', 'torch'],
    ['node', 'require("left-pad/part")', 'left-pad'],
    ['node', 'import "@scope/left-pad";', '@scope/left-pad'],
  ])('makes vouchbox run say that no pack has the library (a program in %s with %j)', async (language, code, name) => {
    const { stderr } = await run(code, '--language', language);
    expect(stderr).toContain(`vouchbox: no listed pack of this service has ${name};`);
  });
});
