import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

/** Resolves after all work that is ready to run has run. */
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve));

test('turns begin in order, at most a fixed number are open at once, and the next begins when one ends', async () => {
  const turns = new Turns();
  const begun: number[] = [];
  const held = Array.from({ length: 5 }, async (_, index) => {
    await turns.take(2, undefined);
    begun.push(index);
  });
  await settled();
  expect([begun, turns.open, turns.waiting]).toEqual([[0, 1], 2, 3]);
  for (const [index, turn] of held.entries()) {
    await turn;
    turns.passOn();
    await settled();
    expect(begun).toEqual([0, 1, 2, 3, 4].slice(0, index + 3));
  }
  expect([turns.open, turns.waiting]).toEqual([0, 0]);
});

test('an aborted wait takes no turn, and later waits keep their order', async () => {
  const turns = new Turns();
  await turns.take(1, undefined);
  const abort = new AbortController();
  const given = turns.take(1, abort.signal);
  const next = turns.take(1, undefined);
  abort.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  await expect(turns.take(1, abort.signal)).rejects.toThrow('enough');
  expect([turns.open, turns.waiting]).toEqual([1, 1]);
  turns.passOn();
  await next;
  turns.passOn();
  expect([turns.open, turns.waiting]).toEqual([0, 0]);
});
