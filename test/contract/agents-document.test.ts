/** The code blocks of docs/AGENTS.md run unchanged, and print what the document says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { useRig } from '../rig/rig.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/AGENTS.md'), 'utf8');

/** The code of each block whose opening fence has these words. */
function blocksOf(words: string): readonly string[] {
  const blocks = [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)];
  return blocks.filter(([, said]) => said === words).map(([, , code]) => code as string);
}

/** The output that a block promises: the text after each of its arrows. */
const saidIn = (block: string) => [...block.matchAll(/(?:\/\/|#) → (.*)$/gm)].map(([, line]) => line);

describe.each(['namespace', 'gvisor'] as const)('with cells of %s', (provider) => {
  const rig = useRig({ provider, concurrency: '2' });
  const client = () => createServiceClient({ baseUrl: rig().service.url, apiKey: rig().alpha.key });

  test.each([
    ['python', 'python', 2],
    ['js', 'node', 1],
    ['bash', 'bash', 2],
  ] as const)('the examples in %s print what docs/AGENTS.md says', async (word, language, count) => {
    const tools = {
      search: ({ query }: { query: string }) => [`a page about ${query}`],
      fail: ({ why }: { why: string }) => Promise.reject(new Error(why)),
    };
    const blocks = blocksOf(`${word} cell`);
    expect(blocks.length).toBe(count);
    for (const code of blocks) {
      const { stdout, exit_code } = await client().run(code, { language, tools, limits: { wall_seconds: 60 } });
      expect([exit_code, ...stdout.trimEnd().split('\n')]).toEqual([0, ...saidIn(code)]);
    }
  });
});

describe('the callers', () => {
  const rig = useRig({ provider: 'namespace', concurrency: '2' });

  test('in TypeScript print what docs/AGENTS.md says', async () => {
    const blocks = blocksOf('ts');
    const lines: string[] = [];
    const print = { log: (...words: unknown[]) => lines.push(...words.join(' ').trimEnd().split('\n')) };
    const body = blocks
      .join('\n')
      .replace(/^import .*$/gm, '')
      .replace('http://127.0.0.1:8080', rig().service.url)
      .replace('change-this-key', rig().alpha.key);
    const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
    await new AsyncFunction('createServiceClient', 'z', 'console', body)(createServiceClient, z, print);
    expect(blocks.length).toBe(6);
    expect(lines).toEqual(saidIn(blocks.join('\n')));
  });
});
