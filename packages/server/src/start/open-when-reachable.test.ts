import { expect, test } from 'vitest';
import { StoreError } from '../store/store-error.ts';
import { createLog } from '../telemetry/log/log.ts';
import { openWhenReachable } from './open-when-reachable.ts';

const log = createLog('silent');
const away = () => Promise.reject(new StoreError('unreachable', 'postgres://host: the database cannot be reached'));

test('the start fails if the database cannot be reached in time, and the message states the time', async () => {
  const { signal } = new AbortController();
  await expect(openWhenReachable(away, { log, signal, waitMilliseconds: 0 })).rejects.toMatchObject({
    name: 'StartError',
    message: 'postgres://host: the database cannot be reached, tried for 0 s',
  });
});

test('a wait for a database ends when the service is asked to stop', async () => {
  const stop = new AbortController();
  const tried = Promise.withResolvers<void>();
  const opening = openWhenReachable(
    () => {
      tried.resolve();
      return away();
    },
    { log, signal: stop.signal },
  );
  await tried.promise;
  stop.abort();
  await expect(opening).rejects.toBe(stop.signal.reason);
});

test('any problem other than an unreachable server ends the wait for a database', async () => {
  let tries = 0;
  const open = () => {
    tries++;
    return Promise.reject(new StoreError('unopenable', 'the password is wrong'));
  };
  await expect(openWhenReachable(open, { log, signal: new AbortController().signal })).rejects.toMatchObject({
    code: 'unopenable',
  });
  expect(tries).toBe(1);
});
