/** Promises in the store: which jobs have one, which statements a waiting job gets, and what retention keeps. */
import { leafHash } from '@vouchbox/evidence';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storeAttestation } from '../evidence/attestations.ts';
import { finish } from '../evidence/outcomes.ts';
import { deleteEnded } from '../evidence/retention.ts';
import { admit } from '../jobs/admission.ts';
import { job } from '../jobs/jobs.ts';
import type { AdmitInput } from '../records/inputs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { admission, at, attestationOf, emptyStore, finishOf, newKey, type TestDatabase } from '../store.fixture.ts';
import { openLog, sequenceLog } from './log-state.ts';
import {
  drawPending,
  jobPromise,
  nextPromiseDue,
  pendingOf,
  storePending,
  storePromises,
  unsignedPending,
  unsignedPromises,
} from './promises.ts';
import { logPosition } from './reading.ts';

let connection: TestDatabase;
let db: StoreDatabase;
beforeAll(async () => {
  connection = await emptyStore();
  db = connection.db;
  const opening = { opening: Uint8Array.of(1), body: Uint8Array.of(2) };
  await openLog(db, { ...{ host: 'log.example', tree: 1, log_key: 'log.example/log/1+00000000+AQ==' }, ...opening });
});
afterAll(() => connection[Symbol.asyncDispose]());

const KEY_ID = `sha256:${'a'.repeat(64)}`;
const envelope = (text: string) => new TextEncoder().encode(text);
const leaf = (text: string) => leafHash(envelope(text));

async function accepted(changes: Partial<AdmitInput> = {}): Promise<JobKey> {
  const key = newKey();
  await admit(db, admission({ ...key, ...changes }));
  return key;
}

/** A job whose promise is signed. It is due at the given time, in milliseconds. */
async function promised(due: number): Promise<JobKey> {
  const key = await accepted({ promise: { due_at: at(due), answer_by: at(due + 10) } });
  await storePromises(db, { promises: [{ ...key, key_id: KEY_ID, envelope: envelope(key.job_id) }] });
  return key;
}

async function logged(key: JobKey, finished = 30): Promise<void> {
  await finish(db, finishOf(key, { finished_at: at(finished) }));
  const receipt = (await job(db, key))?.receipt_sha256 ?? '';
  await storeAttestation(db, { ...attestationOf(key, receipt), leaf_hash: leaf(key.job_id) });
  await sequenced();
}

let size = 1;
async function sequenced(): Promise<void> {
  size = (await sequenceLog(db, { tree: 1, size, most: 100 })) ?? size;
}

const draw = (now: number) =>
  drawPending(db, { now: at(now), due_at: at(now + 100), answer_by: at(now + 110), limit: 9 });

test('only a job accepted with a promise has one, and the promise describes the submission as the receipt does', async () => {
  const [plain, asked] = [await accepted(), await accepted({ promise: { due_at: at(1), answer_by: at(2) } })];
  expect(await jobPromise(db, plain)).toBeNull();
  expect(await jobPromise(db, asked)).toEqual({ envelope: null, key_id: null });
  const [waiting, ...others] = await unsignedPromises(db, { limit: 9 });
  expect(others).toEqual([]);
  expect(waiting).toMatchObject({ ...asked, created_at: at(0), answer_by: at(2), tenant_number: 2 });
  expect(JSON.parse(waiting?.evidence ?? '')).toMatchObject({
    language: 'python',
    code_sha256: expect.any(String) as string,
  });
});

test('the signature of a promise is stored once, and another tenant cannot read it', async () => {
  const key = await promised(9_000);
  await storePromises(db, { promises: [{ ...key, key_id: 'other', envelope: envelope('other') }] });
  expect(await jobPromise(db, key)).toMatchObject({ key_id: KEY_ID });
  expect(await jobPromise(db, { ...key, tenant: 'other' })).toBeNull();
  expect(await unsignedPromises(db, { limit: 9 })).toHaveLength(1);
});

test('both jobs of a pair are promised', async () => {
  const other = newKey();
  const interactor = { job_id: other.job_id, requested_spec: admission().requested_spec };
  const key = await accepted({ promise: { due_at: at(8_000), answer_by: at(8_000) }, interactor });
  expect(await jobPromise(db, { ...key, job_id: other.job_id })).not.toBeNull();
});

test('a job that waits gets a new statement at each given time, and a logged job gets none', async () => {
  const [waits, done] = [await promised(100), await promised(100)];
  await logged(done);
  expect(await draw(99)).toBe(0);
  expect(await draw(100)).toBe(1);
  expect(await draw(150)).toBe(0);
  const [first, ...none] = await unsignedPending(db, { limit: 9 });
  expect(none).toEqual([]);
  expect(first).toMatchObject({ ...waits, statement: 1, stated_at: at(100), answer_by: at(210) });
  expect(await draw(200)).toBe(1);
  const [, second] = await unsignedPending(db, { limit: 9 });
  expect(second).toMatchObject({ ...waits, statement: 2 });
  expect(second?.salt).not.toBe(first?.salt);
  await logged(waits);
  expect(await draw(300)).toBe(0);
});

test('a pending statement waits for the signature of its promise, and needs no leaf of the job', async () => {
  const key = await accepted({ promise: { due_at: at(400), answer_by: at(410) } });
  expect(await draw(400)).toBe(0);
  await storePromises(db, { promises: [{ ...key, key_id: KEY_ID, envelope: envelope('p') }] });
  await finish(db, finishOf(key));
  const receipt = (await job(db, key))?.receipt_sha256 ?? '';
  await storeAttestation(db, { ...attestationOf(key, receipt), leaf_hash: leaf(key.job_id) });
  expect(await draw(400)).toBe(1);
});

test('a pending statement becomes a leaf of the log, and its job is kept until then', {
  tags: ['Promise-6'],
}, async () => {
  await sequenced();
  const key = await promised(500);
  await logged(key, 1);
  const other = await promised(500);
  expect(await draw(500)).toBe(1);
  await finish(db, finishOf(other, { finished_at: at(1) }));
  const receipt = (await job(db, other))?.receipt_sha256 ?? '';
  await storeAttestation(db, { ...attestationOf(other, receipt), leaf_hash: null });
  const removed = () => deleteEnded(db, { before: at(2), limit: 10, unattested: 'logged' });
  expect(await removed()).toBe(1);
  const unsigned = await unsignedPending(db, { limit: 9 });
  await storePending(db, {
    statements: unsigned.map(({ tenant, job_id, statement }) => ({
      tenant,
      job_id,
      statement,
      key_id: KEY_ID,
      envelope: envelope(`${job_id} waits`),
      leaf_hash: leaf(`${job_id} waits ${statement}`),
    })),
  });
  expect(await removed()).toBe(0);
  await sequenced();
  const [told] = await pendingOf(db, { key: other, limit: 9 });
  const position = await logPosition(db, leaf(`${other.job_id} waits 1`));
  expect(told).toMatchObject({ stated_at: at(500), position });
  expect(position).not.toBeNull();
  expect(await removed()).toBe(1);
  expect(await logPosition(db, leaf(`${other.job_id} waits 1`))).toBe(position);
  expect(await jobPromise(db, other)).toBeNull();
});

test('the store returns the time of the next statement about a waiting job', async () => {
  await promised(60_000);
  await draw(50_000);
  expect(await nextPromiseDue(db)).toBe(at(50_100));
});
