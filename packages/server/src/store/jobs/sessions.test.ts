/** A session's state is read from its jobs: how its steps ended, and which of them are still stored. */
import { SESSION_FILES } from '@vouchbox/protocol/vocabulary';
import { expect, test } from 'vitest';
import { finish } from '../evidence/outcomes.ts';
import { deleteEnded } from '../evidence/retention.ts';
import type { AdmitResult } from '../records/answers.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { admission, at, emptyStore, finishOf, newKey, SPEC, startOf } from '../store.fixture.ts';
import { admit } from './admission.ts';
import { job, start } from './jobs.ts';
import { session } from './sessions.ts';

const NAME = { tenant: 'acme', principal: 'p', name: 's' };
const large_outputs = { stdout: null, max_bytes: 9, paths: [SESSION_FILES.newState] };
const state = { path: SESSION_FILES.newState, size_bytes: 1, sha256: 'c'.repeat(64), place: 0 };

function accepted(db: StoreDatabase, key: JobKey, after: string | null): Promise<AdmitResult> {
  const requested_spec = { ...SPEC, large_outputs, session: { name: NAME.name, after } };
  return admit(db, admission({ ...key, principal: NAME.principal, requested_spec }));
}

/** Ends a step at this moment. If the step succeeded, it leaves a state. */
function end(db: StoreDatabase, key: JobKey, moment: number, status: 'succeeded' | 'failed') {
  const kept = status === 'succeeded' ? { largeOutputs: [state] } : {};
  return finish(db, { ...finishOf(key, { status, finished_at: at(moment) }), ...kept });
}

/** Runs a step from its submission to its end. */
async function step(db: StoreDatabase, after: string | null, moment: number, status: 'succeeded' | 'failed') {
  const key = newKey(NAME.tenant);
  expect(await accepted(db, key, after)).toMatchObject({ kind: 'created' });
  await start(db, startOf(key));
  await end(db, key, moment, status);
  return key.job_id;
}

const removed = (db: StoreDatabase, before: number) =>
  deleteEnded(db, { before: at(before), limit: 9, unattested: 'removed' });

test('a session whose last successful step was removed begins anew, even if a later failed step remains', {
  tags: ['Sessions-10'],
}, async () => {
  await using connection = await emptyStore();
  const { db } = connection;
  const good = await step(db, null, 100, 'succeeded');
  const failed = await step(db, good, 300, 'failed');
  expect(await session(db, NAME)).toMatchObject({ last_job_id: good, running_job_id: null });
  expect(await removed(db, 200)).toBe(1);
  const found = await session(db, NAME);
  expect(found).toMatchObject({ last_job_id: null, running_job_id: null });
  expect(await accepted(db, newKey(NAME.tenant), good)).toEqual({ kind: 'session_conflict', found });
  const anew = await step(db, null, 400, 'succeeded');
  expect(await session(db, NAME)).toMatchObject({ last_job_id: anew });
  expect(await removed(db, 350)).toBe(1);
  expect(await job(db, { tenant: NAME.tenant, job_id: failed })).toBeNull();
  expect(await session(db, NAME)).toMatchObject({ last_job_id: anew });
});

test.each(['succeeded', 'failed'] as const)(
  'if the previous step is removed while a step runs, the running step decides the state of the session: it %s',
  {
    tags: ['Sessions-10'],
  },
  async (status) => {
    await using connection = await emptyStore();
    const { db } = connection;
    const good = await step(db, null, 100, 'succeeded');
    const key = newKey(NAME.tenant);
    await accepted(db, key, good);
    await start(db, startOf(key));
    expect(await removed(db, 200)).toBe(1);
    expect(await session(db, NAME)).toMatchObject({ last_job_id: null, running_job_id: key.job_id });
    await end(db, key, 300, status);
    const last_job_id = status === 'succeeded' ? key.job_id : null;
    expect(await session(db, NAME)).toMatchObject({ last_job_id, running_job_id: null });
  },
);

test('a session is removed with its last accepted step', { tags: ['Sessions-10'] }, async () => {
  await using connection = await emptyStore();
  const { db } = connection;
  const good = await step(db, null, 100, 'succeeded');
  await step(db, good, 200, 'failed');
  expect(await removed(db, 300)).toBe(2);
  expect(await session(db, NAME)).toBeNull();
  expect(await connection.rows('select * from sessions')).toEqual([]);
});
