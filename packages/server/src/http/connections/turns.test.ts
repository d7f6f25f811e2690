import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test.each([1, 3])(
  'one turn of the event loop admits %i waiting connections, in the order in which they asked',
  {
    tags: ['CROWD-03'],
  },
  async (atOnce) => {
    const turns = new Turns(atOnce);
    const given: number[] = [];
    for (let number = 0; number < 6; number++) turns.ask(() => void given.push(number));
    for (let turn = 1; turn <= 6 / atOnce; turn++) {
      await nextTurn();
      expect(given).toEqual(Array.from({ length: turn * atOnce }, (_, number) => number));
    }
  },
);

test('a turn of the event loop that accepted a connection admits only one waiting connection', async () => {
  const turns = new Turns(3);
  const given: number[] = [];
  for (let number = 0; number < 3; number++) turns.ask(() => void given.push(number));
  turns.connectionTaken();
  await nextTurn();
  expect(given).toEqual([0]);
  await nextTurn();
  expect(given).toEqual([0, 1, 2]);
});
