/**
 * A pack's own code runs only in cells, whatever starts them. Here, each time the pack's `python3` starts, it reports its user,
 * its rights and what it sees.
 */
import { existsSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copiedPython } from '../classes/namespace/copies.fixture.ts';
import { openProvider } from '../prove/preflight.ts';
import type { CellRequest, Provider } from '../sandbox.ts';
import { BUILD_MILLISECONDS_MAX, packsOf } from './shipped-packs.fixture.ts';
import { MARK, TINY } from './tiny-pack.fixture.ts';

const PRINT = 'import json, sys; print(json.dumps(sys.modules["told_by_pack"].told))';

let packs: string;
beforeAll(async () => {
  ({ packs } = await packsOf([TINY]));
}, BUILD_MILLISECONDS_MAX);

describe.each([
  ['namespace', 'fork', 'started'],
  ['namespace', 'fork', 'copied'],
  ['namespace', 'crun', 'started'],
  ['gvisor', 'fork', 'started'],
] as const)('the python3 of a pack, in the %s class with the launcher %s, when it is %s', (choice, launcher, way) => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-telling-'));
  let provider: Provider;
  beforeAll(async () => {
    const options = { packsDirectory: packs, workBytes: 2 ** 24, hostPostureSha256: null, namespaceLauncher: launcher };
    ({ provider } = await openProvider({ choice, instance: directory, ...options }));
  });
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
    rmSync(MARK, { force: true });
  });

  test('has no right on the host and sees nothing of the host', async () => {
    const request: CellRequest =
      way === 'copied'
        ? await copiedPython(provider, 'owner', TINY.name)
        : { language: 'python', runtime: TINY.name, owner: 'owner' };
    const told = JSON.parse(await run(provider, request));
    expect(told).toMatchObject({
      users: Array.from({ length: 6 }, () => 1000),
      capabilities: ['0000000000000000'],
      processes: expect.toSatisfy((count: number) => count < 8),
      environment: [],
      marks: [],
      memory: 'PermissionError',
    });
    const filter = { no_new_privs: '1', seccomp: '2' };
    // gVisor's kernel says nothing about these rights.
    expect(told).toMatchObject(choice === 'namespace' ? filter : {});
    for (const [name, link] of Object.entries(told.namespaces))
      expect(link).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
    expect(told.name).not.toBe(hostname());
    expect(existsSync(MARK)).toBe(false);
  });
});

async function run(provider: Provider, request: CellRequest): Promise<string> {
  await using cell = await provider.prepare(request);
  const program = { language: 'python', code: PRINT, stdin: null, args: [], env: {}, files: [], outputs: [] } as const;
  const loaded = await cell.handOver({ ...program, limits: { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 30 } });
  let said = '';
  const running = loaded.release((_stream, records) => {
    for (const record of records) said += outputText(record);
  });
  await running.collect();
  return said;
}
