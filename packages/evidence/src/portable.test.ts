import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { browserBundle } from '../../../test/rig/browser-bundle.ts';
import { chainEvents, GENESIS_HASH, verifyChain } from './index.ts';

describe('the package in a browser', () => {
  test('works without Node, and makes the same digests', async () => {
    const script = await browserBundle(new URL('./index.ts', import.meta.url), 'evidence');
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
