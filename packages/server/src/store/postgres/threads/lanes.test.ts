import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

/** Changes that end when the test says so, and the names of those that have begun. */
function heldChanges() {
  const lanes = new Lanes();
  const began: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  let calls = 0;
  const run = (what: string, { name, input }: { name: string; input: unknown }): Promise<string> => {
    const end = Promise.withResolvers<string>();
    ends.set(what, end);
    calls += 1;
    return lanes.run({ id: calls, name, input }, () => {
      began.push(what);
      return end.promise;
    });
  };
  return {
    run,
    began,
    end: (what: string) => ends.get(what)?.resolve(what),
    fail: (what: string) => ends.get(what)?.reject(new Error(what)),
  };
}

const ofJob = (name: string, job_id: string) => ({ name, input: { tenant: 'acme', job_id } });

test('changes to different jobs run in parallel, and changes to one job in order', async () => {
  const { run, began, end } = heldChanges();
  const append = { name: 'append', input: { key: { tenant: 'acme', job_id: 'one' }, events: [] } };
  const all = [
    run('append one', append),
    run('finish one', ofJob('finish', 'one')),
    run('start two', ofJob('start', 'two')),
  ];
  expect(began).toEqual(['append one', 'start two']);
  end('append one');
  await all[0];
  await expect.poll(() => began).toEqual(['append one', 'start two', 'finish one']);
  end('finish one');
  end('start two');
  expect(await Promise.all(all)).toEqual(['append one', 'finish one', 'start two']);
});

test('two submissions are never decided at the same time, and neither are two choices of queued jobs', () => {
  const { run, began } = heldChanges();
  void run('submission', ofJob('admit', 'one'));
  void run('choice', { name: 'takeQueuedJobs', input: {} });
  void run('next submission', ofJob('admit', 'two'));
  void run('next choice', { name: 'takeQueuedJobs', input: {} });
  expect(began).toEqual(['submission', 'choice']);
});

test('changes to stream tickets do not wait for changes to jobs', () => {
  const { run, began } = heldChanges();
  void run('finish', ofJob('finish', 'one'));
  void run('ticket', { name: 'storeTicket', input: {} });
  void run('its use', { name: 'consumeTicket', input: {} });
  expect(began).toEqual(['finish', 'ticket', 'its use']);
});

test('a change of any other kind runs alone', async () => {
  const { run, began, end } = heldChanges();
  void run('finish', ofJob('finish', 'one'));
  const alone = run('credential', { name: 'createCredential', input: {} });
  void run('start', ofJob('start', 'two'));
  expect(began).toEqual(['finish']);
  end('finish');
  await expect.poll(() => began).toEqual(['finish', 'credential']);
  end('credential');
  await alone;
  await expect.poll(() => began).toEqual(['finish', 'credential', 'start']);
});

test('if a change to a job fails, the next change to the same job is not made', async () => {
  const { run, began, fail } = heldChanges();
  const all = [run('start', ofJob('start', 'one')), run('finish', ofJob('finish', 'one'))];
  fail('start');
  const ends = await Promise.allSettled(all);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(began).toEqual(['start']);
});
