/** The shipped pack, built from Debian packages and run in real cells of both classes: a part of `npm run packs`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasEveryPack } from '../../../../../test/rig/form.ts';
import { type Opened, openProvider } from '../prove/preflight.ts';
import type { Collection, Posture, Program, Provider } from '../sandbox.ts';
import type { PackFacts } from './pack-store.ts';
import { BUILD_MILLISECONDS_MAX, shippedPacks } from './shipped-packs.fixture.ts';

const PLOT = `
import numpy as np, pandas as pd
import matplotlib.pyplot as plt
frame = pd.DataFrame({'x': np.arange(100), 'y': np.sin(np.arange(100) / 9)})
print(frame['x'].sum(), round(frame['y'].max(), 3), plt.get_backend())
frame.plot(x='x', y='y', title='sine', figsize=(4, 3))
plt.savefig('output/plot.png', dpi=100)
`;
const PNG_SIGNATURE = '89504e470d0a1a0a';
const MIB = 1024 * 1024;
let packs: string;
let facts: PackFacts;

beforeAll(async () => {
  if (!hasEveryPack) return;
  const shipped = await shippedPacks(['python-data']);
  packs = shipped.packs;
  facts = shipped.facts[0] as PackFacts;
}, BUILD_MILLISECONDS_MAX);

describe.runIf(hasEveryPack).each(['namespace', 'gvisor'] as const)('python-data under the %s provider', (choice) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'svc-python-data-'));
  let provider: Provider;
  let packsLeftOut: Opened['packsLeftOut'];

  beforeAll(async () => {
    ({ provider, packsLeftOut } = await openProvider({
      choice,
      instance: dataDirectory,
      packsDirectory: packs,
      workBytes: 96 * MIB,
      hostPostureSha256: null,
    }));
  });

  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    rmSync(dataDirectory, { recursive: true });
  });

  async function run(
    language: Language,
    code: string,
    limits: Partial<Program['limits']> = {},
    outputs: string[] = [],
  ) {
    await using cell = await provider.prepare({ language, runtime: 'python-data' });
    const held = { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 60, ...limits };
    const loaded = await cell.handOver({
      language,
      code,
      stdin: null,
      args: [],
      env: {},
      files: [],
      outputs,
      limits: held,
    });
    const text = { stdout: '', stderr: '' };
    const running = loaded.release((stream, records) => {
      for (const record of records) text[stream] += outputText(record);
    });
    const collection: Collection & typeof text & { posture: Posture } = {
      ...(await running.collect()),
      ...text,
      posture: cell.posture,
    };
    return collection;
  }

  it('is offered beside the host’s own pack, with every language whose canary succeeded in it', () => {
    const { name, version, digest, libraries } = facts;
    expect(packsLeftOut).toEqual([]);
    expect(provider.runtime_packs.map((pack) => pack.name)).toEqual(['system', 'python-data']);
    expect(provider.runtime_packs[1]).toEqual({
      name,
      version,
      digest,
      libraries,
      languages: ['python', 'node', 'bash'],
    });
    const numpy = { language: 'python', name: 'numpy', version: '1.24.2', modules: ['numpy'] };
    expect(libraries).toEqual(
      expect.arrayContaining([numpy, expect.objectContaining({ name: 'Pillow', modules: ['PIL'] })]),
    );
  });

  it('returns a plot of numpy, pandas and matplotlib as an artifact, within the default memory', async () => {
    const { stdout, stderr, ending, artifacts, posture } = await run('python', PLOT, {}, ['output/plot.png']);
    expect({ stdout, stderr, ending }).toEqual({
      stdout: '4950 1.0 module://vouchbox_figures\n',
      stderr: '',
      ending: { kind: 'exited', exit_code: 0 },
    });
    const png = Buffer.from(artifacts[0]?.content ?? []);
    expect(png.subarray(0, 8).toString('hex')).toBe(PNG_SIGNATURE);
    expect({ width: png.readUInt32BE(16), height: png.readUInt32BE(20) }).toEqual({ width: 400, height: 300 });
    expect(posture.runtime_pack).toEqual({ name: facts.name, version: facts.version, digest: facts.digest });
  });

  it('saves the open figures when they are shown, and overwrites no file', async () => {
    const code = `
import os, matplotlib.pyplot as plt
open('output/figure-1.png', 'w').write('own')
os.chdir('/tmp')
for count in (1, 2):
    for _ in range(count):
        plt.figure(); plt.plot([1, 2])
    plt.show()
figure, axes = plt.subplots()
figure.show()
print(plt.get_fignums())`;
    const { stdout, stderr, artifacts } = await run('python', code, {}, ['output/**']);
    expect({ stdout, stderr }).toEqual({ stdout: '[1]\n', stderr: '' });
    expect(artifacts.map(({ path }) => path)).toEqual([1, 2, 3, 4, 5].map((at) => `output/figure-${at}.png`));
    const starts = artifacts.map(({ content }) => Buffer.from(content).subarray(0, 8).toString('hex'));
    expect(starts).toEqual([Buffer.from('own').toString('hex'), ...Array(4).fill(PNG_SIGNATURE)]);
  });

  it('allows large arrays up to the job’s memory limit, and no further', async () => {
    const code = 'import numpy\na = numpy.ones(600 * 2 ** 17)\nprint(int(a.sum() / 2 ** 17))';
    expect((await run('python', code, { mem_mb: 1024 })).stdout).toBe('600\n');
    expect((await run('python', code, { mem_mb: 512 })).ending).toEqual({ kind: 'memory_limit' });
  });

  it('multiplies matrices with as many threads as its environment states', async () => {
    const code = `import numpy, os
a = numpy.random.default_rng(1).random((400, 400))
print(numpy.allclose(a @ numpy.linalg.inv(a), numpy.eye(400)), os.environ['OPENBLAS_NUM_THREADS'])`;
    const { stdout, stderr } = await run('python', code, { max_pids: 8 });
    expect({ stdout, stderr }).toEqual({ stdout: 'True 4\n', stderr: '' });
  });

  it('is the file system of the program, and the program cannot change it', async () => {
    const code = `[ ! -e /usr/include ] && echo no headers
cat /etc/passwd | wc -l
( echo x > /usr/bin/new ) 2>/dev/null || echo /usr is read-only
( echo x > /etc/new ) 2>/dev/null || echo /etc is read-only
python3 -c 'import scipy; print("scipy")'
node -e 'console.log("node")'`;
    expect((await run('bash', code)).stdout).toBe('no headers\n2\n/usr is read-only\n/etc is read-only\nscipy\nnode\n');
  });
});
