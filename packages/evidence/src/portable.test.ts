import { runInNewContext } from 'node:vm';
import { build, type Rolldown } from 'vite';
import { describe, expect, test } from 'vitest';
import { chainEvents, GENESIS_HASH, verifyChain } from './index.ts';

/** The package as a page loads it: one script, with the `#sha256` that a browser resolves. */
async function browserBundle(): Promise<string> {
  const output = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: false,
      lib: { entry: new URL('./index.ts', import.meta.url).pathname, formats: ['iife'], name: 'evidence' },
    },
  });
  const [bundle] = output as Rolldown.RolldownOutput[];
  return bundle?.output[0].code ?? '';
}

describe('in a browser', () => {
  test('the package needs nothing of Node and makes the same digests', async () => {
    const script = await browserBundle();
    expect(script).not.toMatch(/node:|require\(/);
    const body = { kind: 'stdout', timestamp: '2026-01-01T00:00:00.000Z', data: { text: 'hé' } } as const;
    const tail = { job_id: 'job_1', seq: 0, head: GENESIS_HASH };
    const text = runInNewContext(
      `${script}; JSON.stringify(evidence.chainEvents(${JSON.stringify(tail)}, [${JSON.stringify(body)}]))`,
      { TextEncoder, TextDecoder },
    ) as string;
    const events = JSON.parse(text) as ReturnType<typeof chainEvents>;
    expect(events).toEqual(chainEvents(tail, [body]));
    expect(verifyChain(events)).toMatchObject({ kind: 'intact' });
  });
});
