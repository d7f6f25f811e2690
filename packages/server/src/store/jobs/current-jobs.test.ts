import { LANGUAGES } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { admitJob, finishOf, runJob, SPEC, TestStore } from '../store.fixture.ts';

const BASH = { ...SPEC, language: 'bash' } as const;

test('the waiting and running jobs of a tenant are counted by language, without ended jobs', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  for (const requested_spec of [SPEC, BASH, BASH]) await admitJob(store, { requested_spec });
  for (const requested_spec of [SPEC, SPEC, SPEC, BASH]) await runJob(store, { requested_spec });
  await store.finish(finishOf(await runJob(store)));
  await runJob(store, { tenant: 'other' });
  const { languages, ...counts } = await store.currentJobs('acme');
  expect(counts).toEqual({ queued: 3, running: 4 });
  expect(languages.map(({ language }) => language)).toEqual(LANGUAGES);
  expect(languages.filter(({ queued, running }) => queued + running > 0)).toEqual([
    { language: 'python', queued: 1, running: 3 },
    { language: 'bash', queued: 2, running: 1 },
  ]);
});

test('a tenant that never submitted a job has no current jobs', async () => {
  await using testStore = await TestStore.open();
  expect(await testStore.store.currentJobs('nobody')).toMatchObject({ queued: 0, running: 0 });
});
