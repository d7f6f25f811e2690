import { expect, test } from 'vitest';
import { StandingLoop } from './standing-loop.ts';

test('a started loop does its first work once, and then repeats its rounds until it is stopped', async () => {
  const done: string[] = [];
  const { promise: thirdRound, resolve } = Promise.withResolvers<void>();
  const loop = new StandingLoop(async () => {
    done.push('round');
    await Promise.resolve();
    if (done.length === 4) resolve();
  });
  expect(loop.isGoing).toBe(false);
  loop.start(async () => void done.push('first'));
  loop.start(async () => void done.push('first again'));
  expect(loop.isGoing).toBe(true);
  await thirdRound;
  loop.stop();
  expect(loop.isGoing).toBe(false);
  await loop[Symbol.asyncDispose]();
  expect(done.slice(0, 4)).toEqual(['first', 'round', 'round', 'round']);
});

test('a disposed loop aborts the signal of its current round, and waits until that round ends', async () => {
  let hasEnded = false;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const loop = new StandingLoop(async (signal) => {
    begin();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    hasEnded = true;
  });
  loop.start();
  await begun;
  await loop[Symbol.asyncDispose]();
  expect(hasEnded).toBe(true);
});

test('a standing loop that was never started can be disposed', async () => {
  const loop = new StandingLoop(() => Promise.reject(new Error('it was not started')));
  await loop[Symbol.asyncDispose]();
  expect(loop.isGoing).toBe(false);
});
