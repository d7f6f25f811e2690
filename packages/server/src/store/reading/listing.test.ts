import type { JobListItem, Language, TerminalStatus } from '@vouchbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { finish } from '../evidence/outcomes.ts';
import { admit } from '../jobs/admission.ts';
import { start } from '../jobs/jobs.ts';
import { listed } from '../kept/listed.fixture.ts';
import type { ListInput } from '../records/inputs.ts';
import type { JobKey, ListPlace } from '../records/rows.ts';
import {
  admission,
  admitJob,
  at,
  choice,
  emptyStore,
  finishOf,
  newKey,
  runJob,
  SPEC,
  startOf,
  TestStore,
} from '../store.fixture.ts';
import { list as listOf } from './listing.ts';

let testStore: TestStore;
const keys: JobKey[] = [];
const LANGUAGES: Language[] = ['python', 'node', 'bash'];
const STATUSES: TerminalStatus[] = ['succeeded', 'failed', 'cancelled'];

beforeAll(async () => {
  testStore = await TestStore.open();
  for (let number = 0; number < 36; number++) {
    const key = newKey('acme');
    keys.push(key);
    const language = LANGUAGES[number % 3] ?? 'python';
    await runJob(testStore.store, { ...key, requested_spec: { ...SPEC, language } });
    const status = STATUSES[Math.floor(number / 3) % 4];
    if (status !== undefined) await testStore.store.finish(finishOf(key, { status }));
  }
  await admitJob(testStore.store, { tenant: 'other' });
});
afterAll(() => testStore[Symbol.asyncDispose]());

const list = (changes: Partial<ListInput> = {}) => listed(testStore.store, { tenant: 'acme', ...changes });

const ids = (jobs: readonly { readonly job_id: string }[]) => jobs.map((job) => job.job_id);
const newestFirst = () => ids(keys).sort().reverse();

test('a tenant’s jobs are listed newest first, without those of other tenants', async () => {
  expect(ids(await list())).toEqual(newestFirst());
  expect(await list({ tenant: 'nobody' })).toEqual([]);
});

test('pages of a list have a bounded size, continue after their cursor and reach the end, even if newer jobs arrive', async () => {
  const found: string[] = [];
  let before: ListPlace | null = null;
  for (;;) {
    const page: readonly JobListItem[] = await list({ limit: 7, before, tenant: 'acme' });
    if (page.length === 0) break;
    expect(page.length).toBeLessThanOrEqual(7);
    found.push(...ids(page));
    before = page.at(-1) ?? null;
    if (found.length === 7) keys.push(await admitJob(testStore.store));
  }
  expect(found).toEqual(newestFirst().slice(1));
});

test.each([
  [['running'] as const, null],
  [['failed'] as const, 'python' as const],
  [['failed', 'cancelled'] as const, null],
  [['succeeded', 'running'] as const, 'bash' as const],
  [null, 'node' as const],
  [['timed_out'] as const, null],
  [['failed', 'failed'] as const, null],
])('a list with statuses %j and language %j has exactly the matching jobs', async (statuses, language) => {
  const wanted = (job: JobListItem) =>
    (statuses === null || (statuses as readonly string[]).includes(job.status)) &&
    (language === null || job.language === language);
  const expected = (await list()).filter(wanted);
  expect(await list({ statuses, language })).toEqual(expected);
  const cursor = expected[2];
  if (cursor === undefined) return;
  expect(await list({ statuses, language, before: cursor, limit: 3 })).toEqual(expected.slice(3, 6));
});

test('a list by label and statuses has exactly the jobs that match both, even jobs that an older version ended', async () => {
  await using database = await emptyStore();
  const { db } = database;
  const requested_spec = { ...SPEC, labels: ['course 7', 'other'] };
  const made: string[] = [];
  for (const [number, status] of (['failed', null, 'failed', 'succeeded', 'failed'] as const).entries()) {
    const key = newKey();
    made.push(key.job_id);
    await admit(db, admission({ ...key, created_at: at(number), requested_spec }));
    await start(db, startOf(key));
    if (status !== null) await finish(db, finishOf(key, { status }));
  }
  await admit(db, admission());
  const [first, running, second, succeeded, third] = made;
  // Nodes of earlier versions leave this column null.
  await database.rows(`update job_labels set ended = null where job_id = '${second}'`);
  const page = async (asked: Partial<ListInput>) =>
    ids(await listed({ list: (input) => listOf(db, input) }, { tenant: 'acme', label: 'course 7', ...asked }));
  expect(await page({ statuses: ['failed'] })).toEqual([third, second, first]);
  expect(await page({ statuses: ['failed', 'running'] })).toEqual([third, second, running, first]);
  expect(await page({ statuses: ['failed'], limit: 2 })).toEqual([third, second]);
  expect(await page({ statuses: ['succeeded'], language: 'python' })).toEqual([succeeded]);
  expect(await page({ statuses: ['succeeded'], language: 'bash' })).toEqual([]);
  expect(await page({})).toEqual([third, succeeded, second, running, first]);
});

test('an item of the list is the same as the summary of its job', async () => {
  const page = await list({ statuses: ['failed'], limit: 3 });
  expect(page).toHaveLength(3);
  const summaries = page.map(({ job_id }) => testStore.store.jobSummary({ tenant: 'acme', job_id }));
  expect(await Promise.all(summaries)).toEqual(page.map((item) => expect.objectContaining(item) as unknown));
});

test('a page states its next cursor only if more jobs follow', async () => {
  const page = { tenant: 'acme', before: null, statuses: null, language: null } as const;
  const [first] = await list();
  const { next } = await testStore.store.list({ ...page, limit: 1 });
  expect(next).toEqual({ created_at: first?.created_at, job_id: first?.job_id });
  expect((await testStore.store.list({ ...page, limit: keys.length })).next).toBeNull();
  expect((await testStore.store.list({ ...page, limit: keys.length - 1 })).next).not.toBeNull();
  expect(await testStore.store.list({ ...page, tenant: 'nobody', limit: 1 })).toEqual({ items: '[]', next: null });
});

test('a list is ordered by the time of acceptance and then by id, even with ids of an older form', async () => {
  const tenant = 'older';
  const jobs = [
    { created_at: at(1), job_id: 'job_09' },
    { created_at: at(3), job_id: 'job_03' },
    { created_at: at(2), job_id: 'job_zz' },
    { created_at: at(2), job_id: 'job_01' },
  ];
  for (const job of jobs) await admitJob(testStore.store, { tenant, ...job });
  const expected = ['job_03', 'job_zz', 'job_01', 'job_09'];
  for (const filter of [{}, { statuses: ['queued'] as const }, { language: 'python' as const }]) {
    expect(ids(await list({ tenant, ...filter }))).toEqual(expected);
    const second = { created_at: at(2), job_id: 'job_zz' };
    expect(ids(await list({ tenant, ...filter, before: second }))).toEqual(expected.slice(2));
  }
  const { jobs: queued } = await testStore.store.queuedJobs(choice({ exclude: [], limit: 1000 }));
  expect(ids(queued.filter((job) => job.tenant === tenant))).toEqual(expected.toReversed());
});
