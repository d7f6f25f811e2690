import { createContext, runInContext } from 'node:vm';
import { beforeAll, describe, expect, test } from 'vitest';
import { browserBundle } from '../../../test/rig/browser-bundle.ts';
import { attestedJob, exportOf } from '../test/attested-job.ts';

/** Deletes the functions that Node 22 and some browsers lack. */
const WITHOUT_NEWER = `
  for (const name of ['fromHex', 'fromBase64']) delete Uint8Array[name];
  for (const name of ['toHex', 'toBase64', 'setFromHex', 'setFromBase64']) delete Uint8Array.prototype[name];`;

describe('the verifier in a browser without the newest functions', () => {
  const job = attestedJob({ code: 'print("hello")', outputs: { 'output/deep/plot.svg': '<svg/>' } });
  let script: string;
  beforeAll(async () => {
    script = await browserBundle(new URL('./index.ts', import.meta.url), 'verifier');
  });

  /** Verifies an export in a context whose globals a page has, too. */
  async function verifyIn(files: ReadonlyMap<string, Uint8Array>) {
    const bytes = Object.fromEntries(Array.from(files, ([path, content]) => [path, Array.from(content)]));
    const input = { bytes, publicKeys: [job.key.publicKeyPem], tenant: job.tenant };
    const page = createContext({ TextEncoder, TextDecoder, crypto, atob, btoa, input });
    const text = (await runInContext(
      `${WITHOUT_NEWER}; ${script};
      const files = new Map(Object.entries(input.bytes).map(([path, list]) => [path, Uint8Array.from(list)]));
      const policy = verifier.parsePolicy({ require: ['isolation>=linux-shared-kernel'] });
      verifier.verifyExport(verifier.parseExport(files), { ...input, policy }).then(JSON.stringify);`,
      page,
    )) as string;
    return JSON.parse(text) as { exitCode: number; checks: { name: string; isGood: boolean }[] };
  }

  test('needs no module of Node', () => {
    expect(script).not.toMatch(/node:|require\(|process\./);
  });

  test('accepts a good export', async () => {
    const { exitCode, checks } = await verifyIn(exportOf(job));
    expect(checks.filter(({ isGood }) => !isGood)).toEqual([]);
    expect(exitCode).toBe(0);
  });

  test('refuses a changed output, and a file that no export has', async () => {
    const changed = new Map(exportOf(job)).set('output/deep/plot.svg', new TextEncoder().encode('<svG/>'));
    expect(await verifyIn(changed)).toMatchObject({ exitCode: 6, checks: [{ name: 'directory', isGood: false }] });
    const surplus = new Map(exportOf(job)).set('index.html', new TextEncoder().encode('x'));
    expect(await verifyIn(surplus)).toMatchObject({ exitCode: 7, checks: [{ name: 'directory', isGood: false }] });
  });
});
