import { buffer } from 'node:stream/consumers';
import { responsePumpBytes } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { pumpOf } from './pump.ts';

test('a body arrives unchanged in pieces of at most 64 KiB, whatever the size of its own pieces', {
  tags: ['Transfer-1'],
}, async () => {
  const pieces = ['é'.repeat(100_000), Buffer.alloc(3, 'x'), '', Buffer.alloc(responsePumpBytes + 1, 'y')];
  const body = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
  const sizes: number[] = [];
  const pump = pumpOf(pieces, body.length).on('data', (piece: Buffer) => sizes.push(piece.length));
  expect(await buffer(pump)).toEqual(body);
  expect(Math.max(...sizes)).toBe(responsePumpBytes);
});

test('an answer’s body is not read while the client takes nothing', {
  tags: ['Transfer-1', 'Limits-14'],
}, async () => {
  let read = 0;
  async function* endless() {
    for (;;) {
      read++;
      yield Buffer.alloc(responsePumpBytes);
    }
  }
  const pump = pumpOf(endless(), Number.MAX_SAFE_INTEGER);
  await new Promise((resolve) => pump.once('readable', resolve));
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(read).toBeLessThanOrEqual(3);
  pump.destroy();
});

test.each([
  ['longer', 9],
  ['longer', 5],
  ['shorter', 11],
])(
  'a body that is %s than declared fails before all declared bytes are sent',
  { tags: ['Transfer-4'] },
  async (problem, declared) => {
    const pieces: Buffer[] = [];
    const pump = pumpOf(['01234', '56789'], declared).on('data', (piece: Buffer) => pieces.push(piece));
    await expect(buffer(pump)).rejects.toThrow(problem);
    expect(Buffer.concat(pieces).length).toBeLessThan(declared);
  },
);
