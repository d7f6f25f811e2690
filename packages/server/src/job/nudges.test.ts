import { expect, test } from 'vitest';
import { createNudges } from './nudges.ts';

test('a nudge wakes every waiter for its topic, and no other waiter', async () => {
  const nudges = createNudges();
  using first = nudges.next('events a');
  using second = nudges.next('events a');
  using other = nudges.next('events b');
  nudges.send('events a');
  await Promise.all([first.arrived, second.arrived]);
  const late = Symbol('late');
  expect(await Promise.race([other.arrived, Promise.resolve(late)])).toBe(late);
});

test('a waiter gets only nudges sent after it registered, and a nudge is kept until the waiter asks', async () => {
  const nudges = createNudges();
  nudges.send('queue');
  using nudge = nudges.next('queue');
  const late = Symbol('late');
  expect(await Promise.race([nudge.arrived, Promise.resolve(late)])).toBe(late);
  nudges.send('queue');
  await expect(nudge.arrived).resolves.toBeUndefined();
});

test('an aborted waiter also wakes, whether it is aborted before or after it registers', async () => {
  const nudges = createNudges();
  await expect(nudges.next('queue', AbortSignal.abort()).arrived).resolves.toBeUndefined();
  const controller = new AbortController();
  using nudge = nudges.next('queue', controller.signal);
  controller.abort();
  await expect(nudge.arrived).resolves.toBeUndefined();
});
