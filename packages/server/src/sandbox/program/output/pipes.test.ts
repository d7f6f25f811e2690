import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { PERL } from '../../native/native.ts';
import { type Pipes, spawnWithPipes } from './pipes.ts';

const SUPERVISE = fileURLToPath(new URL('../../classes/subprocess/supervise.pl', import.meta.url));

/** A shell with real pipes, which waits for a line before it runs the script. */
async function started(script: string): Promise<Pipes> {
  const words = ['/bin/sh', '-c', `read line; ${script}`];
  return await spawnWithPipes([PERL, SUPERVISE, '3', ...words], {
    env: {},
    extra: ['pipe', 'pipe', 'pipe'],
    hasTools: false,
  }).pipes;
}

test('output of any length passes through one buffer', async () => {
  const pipes = await started('/usr/bin/head -c 67108864 /dev/zero; /usr/bin/head -c 1000000 /dev/zero >&2');
  const buffers = new Set<ArrayBufferLike>();
  let bytes = 0;
  for (const stream of [pipes.stdout, pipes.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      buffers.add(chunk.buffer);
      bytes += chunk.length;
    });
  }
  pipes.stdin.end('\n');
  await pipes.drained;
  expect(bytes).toBe(68_108_864);
  expect(buffers.size).toBe(1);
});

test('output that came before there was a listener is passed on first and in order', async () => {
  const pipes = await started('echo early; read line; echo late');
  pipes.stdin.write('\n');
  while (pipes.stdout.readableLength < 'early\n'.length) await new Promise((resolve) => setImmediate(resolve));
  let said = '';
  pipes.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said === 'early\n') pipes.stdin.end('\n');
  });
  pipes.stderr.resume();
  await pipes.drained;
  expect(said).toBe('early\nlate\n');
});
