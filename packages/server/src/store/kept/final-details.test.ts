import type { JobDetail } from '@vouchbox/protocol';
/** A kept detail equals what the store would return. */
import { expect, test } from 'vitest';
import { Spelled } from '../../ground/json-text.ts';
import type { DetailText } from '../records/answers.ts';
import type { JobDetailInput } from '../records/inputs.ts';
import { admitJob, at, attestationOf, finishOf, runJob, TestStore } from '../store.fixture.ts';
import { FinalDetails } from './final-details.ts';

function input(job_id: string, tenant = 'acme'): JobDetailInput {
  return { key: { tenant, job_id }, signing: 'on' };
}

/** A store that answers one detail and counts how often it was asked. */
function storeOf(detail: DetailText | null) {
  let asked = 0;
  const ask = async () => {
    asked += 1;
    return detail;
  };
  return { ask, asked: () => asked };
}

const detail = (text: string, isFinal: boolean): DetailText => ({ text: new Spelled<JobDetail>(text).text, isFinal });
const final = (text: string) => detail(text, true);

test('a final detail is read once, and one that may change every time', async () => {
  const details = new FinalDetails();
  const ended = storeOf(final('{}'));
  const running = storeOf(detail('[]', false));
  const unknown = storeOf(null);
  for (let time = 0; time < 3; time++) {
    expect(await details.read(input('ended'), ended.ask)).toBe('{}');
    expect(await details.read(input('running'), running.ask)).toBe('[]');
    expect(await details.read(input('unknown'), unknown.ask)).toBeNull();
  }
  expect([ended.asked(), running.asked(), unknown.asked()]).toEqual([1, 3, 3]);
});

test('a kept detail is returned to its tenant alone, and under its mode of signing alone', async () => {
  const details = new FinalDetails();
  await details.read(input('job'), storeOf(final('{}')).ask);
  const none = storeOf(null).ask;
  expect(await details.read(input('job', 'other'), none)).toBeNull();
  expect(await details.read({ ...input('job'), signing: 'off' }, none)).toBeNull();
});

test('a change drops everything, and a detail that was read meanwhile is not kept', async () => {
  const details = new FinalDetails();
  await details.read(input('before'), storeOf(final('old')).ask);
  const change = Promise.withResolvers<string>();
  const changing = details.change(() => change.promise);
  const early = Promise.withResolvers<DetailText>();
  const reading = details.read(input('beside'), () => early.promise);
  await details.read(input('before'), storeOf(final('during')).ask);
  change.resolve('changed');
  expect(await changing).toBe('changed');
  early.resolve(final('old'));
  expect(await reading).toBe('old');
  const afterwards = storeOf(final('new'));
  expect(await details.read(input('before'), afterwards.ask)).toBe('new');
  expect(await details.read(input('beside'), afterwards.ask)).toBe('new');
});

test('a failed change does not keep later details from being kept', async () => {
  const details = new FinalDetails();
  await expect(details.change(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
  const ended = storeOf(final('{}'));
  for (let time = 0; time < 2; time++) await details.read(input('job'), ended.ask);
  expect(ended.asked()).toBe(1);
});

test('kept details are bounded, and the oldest is dropped first', async () => {
  const details = new FinalDetails(20);
  const stores = ['a', 'b', 'c'].map((name) => ({ name, ...storeOf(final(name.repeat(10))) }));
  for (const { name, ask } of stores) await details.read(input(name), ask);
  for (const { name, ask } of stores.toReversed()) await details.read(input(name), ask);
  expect(stores.map(({ asked }) => asked())).toEqual([2, 1, 1]);
  const large = storeOf(final('x'.repeat(21)));
  for (let time = 0; time < 2; time++) await details.read(input('large'), large.ask);
  expect(large.asked()).toBe(2);
});

test('a detail that was removed or withdrawn since it was read is never returned', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  const key = await runJob(store);
  await store.finish(finishOf(key));
  const detail = async () => JSON.parse((await store.jobDetail({ key, signing: 'on' })) ?? 'null') as DetailAsRead;
  expect((await detail())?.attestation.available).toBe(false);
  const { receipt_sha256 = '' } = (await store.job(key)) ?? {};
  await store.storeAttestation(attestationOf(key, receipt_sha256 ?? ''));
  expect((await detail())?.attestation.available).toBe(true);
  expect((await detail())?.attestation.available).toBe(true);
  await store.withdrawAttestation({ ...key, error: 'tampered with', at: at(30) });
  expect((await detail())?.attestation.available).toBe(false);
  const waiting = await admitJob(store);
  await store.deleteEnded({ before: at(1_000_000), limit: 9, unattested: 'removed' });
  expect(await detail()).toBeNull();
  expect(await store.jobDetail({ key: waiting, signing: 'on' })).not.toBeNull();
});

type DetailAsRead = { readonly attestation: { readonly available: boolean } } | null;
