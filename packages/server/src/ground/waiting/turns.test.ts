import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

/** Work that goes on until it is told to end. */
function stretch() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasBegun = false;
  const work = () => {
    hasBegun = true;
    return promise;
  };
  return { work, end: resolve, hasBegun: () => hasBegun };
}

test('a bounded number of tasks runs at a time, and the task that waited longest is next', async () => {
  const turns = new Turns(2);
  const all = Array.from({ length: 4 }, stretch);
  const taken = all.map(({ work }) => turns.take(work));
  await Promise.resolve();
  expect(all.map(({ hasBegun }) => hasBegun())).toEqual([true, true, false, false]);
  all[1]?.end();
  await taken[1];
  await Promise.resolve();
  expect(all.map(({ hasBegun }) => hasBegun())).toEqual([true, true, true, false]);
  for (const { end } of all) end();
  await Promise.all(taken);
});

test('a task that fails passes its turn on', async () => {
  const turns = new Turns(1);
  await expect(turns.take(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await turns.take(() => Promise.resolve('done'))).toBe('done');
});

test('a task that stops waiting delays no other task', async () => {
  const turns = new Turns(1);
  const first = stretch();
  const taken = turns.take(first.work);
  const controller = new AbortController();
  const second = stretch();
  const left = turns.take(second.work, controller.signal);
  const third = turns.take(() => Promise.resolve('third'));
  controller.abort(new Error('no longer wanted'));
  await expect(left).rejects.toThrow('no longer wanted');
  first.end();
  await taken;
  expect([await third, second.hasBegun()]).toEqual(['third', false]);
  await expect(turns.take(second.work, controller.signal)).rejects.toThrow('no longer wanted');
});
