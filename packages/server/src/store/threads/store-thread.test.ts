import { MessageChannel } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { storeErrorOf } from '../sqlite/error.ts';
import type { Report } from './messages.ts';
import { type SendReport, type StoreThread, serveStore } from './store-thread.ts';

/** A thread that tells which calls it took together; those named `later` have time. */
function patientThread() {
  const { port1, port2 } = new MessageChannel();
  const groups: string[][] = [];
  const open = async (report: SendReport): Promise<StoreThread> => ({
    names: [],
    isPatient: ({ name }) => name === 'later',
    async work(waiting) {
      const taken = waiting.splice(0);
      groups.push(taken.map(({ name }) => name));
      report({ kind: 'answers', answers: taken.map(({ id }) => ({ id, value: null })) });
    },
    async [Symbol.asyncDispose]() {},
  });
  serveStore(port2, { open, errorOf: storeErrorOf });
  let answered = 0;
  const closed = Promise.withResolvers<void>();
  port1.on('message', (report: Report) => {
    if (report.kind === 'answers') answered += report.answers.length;
  });
  port1.on('close', () => closed.resolve());
  port1.postMessage({ kind: 'open' });
  return {
    groups,
    closed: closed.promise,
    answered: () => answered,
    call: (name: string, id: number) => port1.postMessage({ kind: 'calls', calls: [{ id, name, input: null }] }),
    close: () => port1.postMessage({ kind: 'close' }),
  };
}

test('calls without a waiting caller share the commit of the next call with one', async () => {
  const thread = patientThread();
  thread.call('later', 1);
  // This call came in another message, and has arrived alone.
  await new Promise((resolve) => setImmediate(resolve));
  thread.call('now', 2);
  await expect.poll(thread.answered).toBe(2);
  expect(thread.groups).toEqual([['later', 'now']]);
  thread.close();
  await thread.closed;
});

test('calls without a waiting caller are answered even if no other call comes', async () => {
  const thread = patientThread();
  thread.call('later', 1);
  thread.call('later', 2);
  await expect.poll(thread.answered).toBe(2);
  expect(thread.groups).toEqual([['later', 'later']]);
  thread.close();
  await thread.closed;
});

test('a closing thread answers at once the calls that could wait', async () => {
  const thread = patientThread();
  thread.call('later', 1);
  thread.close();
  await thread.closed;
  expect(thread.groups).toEqual([['later']]);
});
