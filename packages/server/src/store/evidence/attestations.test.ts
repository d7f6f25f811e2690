import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { counts } from '../health.ts';
import { admit } from '../jobs/admission.ts';
import { job, jobSummary } from '../jobs/jobs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { admission, at, attestationOf, emptyStore, finishOf, newKey, type TestDatabase } from '../store.fixture.ts';
import {
  attestation,
  outbox,
  postponeAttestation,
  resumeAttestations,
  storeAttestation,
  withdrawAttestation,
} from './attestations.ts';
import { finish } from './outcomes.ts';

let connection: TestDatabase;
let db: StoreDatabase;
beforeAll(async () => {
  connection = await emptyStore();
  db = connection.db;
});
beforeEach(() => connection.rows('delete from jobs'));
afterAll(() => connection[Symbol.asyncDispose]());

/** The key of a job that ended at `milliseconds`. */
async function endedJob(milliseconds = 30): Promise<JobKey> {
  const key = newKey();
  await admit(db, admission(key));
  await finish(db, finishOf(key, { finished_at: at(milliseconds) }));
  return key;
}

const attestationInput = async (key: JobKey) => attestationOf(key, (await job(db, key))?.receipt_sha256 ?? '');

const dueIds = async (milliseconds: number, limit = 10) =>
  (await outbox(db, { now: at(milliseconds), limit })).map((entry) => entry.job_id);

test('ended jobs wait for their attestations in the order in which they ended', async () => {
  const [late, early, middle] = [await endedJob(90), await endedJob(30), await endedJob(60)];
  expect(await dueIds(100)).toEqual([early.job_id, middle.job_id, late.job_id]);
  expect(await dueIds(100, 2)).toEqual([early.job_id, middle.job_id]);
});

test('a job that nobody tried to attest is due at once, even if the clock was set back after its end', async () => {
  const key = await endedJob(90);
  expect(await dueIds(0)).toEqual([key.job_id]);
});

test('a postponed attestation is due again at the given time, and the reason is kept', async () => {
  const key = await endedJob();
  expect(await postponeAttestation(db, { ...key, due_at: at(1000), error: 'no key', at: at(40) })).toBe(true);
  expect(await dueIds(999)).toEqual([]);
  expect(await outbox(db, { now: at(1000), limit: 1 })).toEqual([{ ...key, created_at: at(30), attempts: 1 }]);
  expect(await counts(db)).toMatchObject({ outbox: 1, outbox_error: { message: 'no key', at: at(40) } });
});

test('an attestation that was postponed without a date waits until all attestations are resumed', async () => {
  const [lasting, soon, fresh] = [await endedJob(30), await endedJob(31), await endedJob(5000)];
  await postponeAttestation(db, { ...lasting, due_at: null, error: 'too large', at: at(40) });
  await postponeAttestation(db, { ...soon, due_at: at(9000), error: 'busy', at: at(41) });
  expect(await dueIds(8999)).toEqual([fresh.job_id]);
  expect(await counts(db)).toMatchObject({ outbox: 3 });
  expect(await resumeAttestations(db, at(100))).toBe(2);
  expect(await dueIds(100)).toEqual([lasting.job_id, soon.job_id, fresh.job_id]);
});

test('a stored attestation is returned unchanged, and its job no longer waits', async () => {
  const key = await endedJob();
  const input = await attestationInput(key);
  expect((await jobSummary(db, key))?.attestation_available).toBe(false);
  expect(await attestation(db, { key, part: 'envelope' })).toBeNull();
  expect(await storeAttestation(db, input)).toBe(true);
  const { result_artifact, envelope, created_at: _at, job_id: _id, leaf_hash: _leaf, ...row } = input;
  expect((await jobSummary(db, key))?.attestation_available).toBe(true);
  const stored = { row, envelope, object: null, isIntact: true };
  expect(await attestation(db, { key, part: 'envelope' })).toEqual({ ...stored, result_artifact: null });
  expect(await attestation(db, { key, part: 'result_artifact' })).toEqual({ ...stored, result_artifact });
  expect(await counts(db)).toMatchObject({ outbox: 0, outbox_error: null });
});

test('an attestation belongs only to its tenant', async () => {
  const key = await endedJob();
  await storeAttestation(db, await attestationInput(key));
  expect(await attestation(db, { key: { ...key, tenant: 'other' }, part: 'envelope' })).toBeNull();
});

test.each([
  ['a byte of the envelope', 'envelope = result_artifact'],
  ['the end of the envelope', 'envelope = substr(envelope, 1, 299)'],
  ['a byte of the result', 'result_artifact = substr(envelope, 1, length(result_artifact))'],
  ['the digest of the result', "result_sha256 = 'f'"],
  ['the size of the envelope', 'envelope_size_bytes = 1'],
  ['the digest of the receipt', "receipt_sha256 = 'f'"],
])('an attestation that differs from its digests or sizes is detected: %s', async (_what, change) => {
  const key = await endedJob();
  await storeAttestation(db, await attestationInput(key));
  await connection.rows(`update attestations set ${change}`);
  expect((await attestation(db, { key, part: 'result_artifact' }))?.isIntact).toBe(false);
});

test('a second attestation of a job, and an attestation of a job that has not ended, are not stored', async () => {
  const key = await endedJob();
  const input = await attestationInput(key);
  await storeAttestation(db, input);
  expect(await storeAttestation(db, { ...input, key_id: 'sha256:other' })).toBe(false);
  expect((await attestation(db, { key, part: 'envelope' }))?.row.key_id).toBe(input.key_id);
  const queued = newKey();
  await admit(db, admission(queued));
  expect(await storeAttestation(db, { ...input, ...queued })).toBe(false);
  expect(await postponeAttestation(db, { ...queued, due_at: at(1), error: 'e', at: at(1) })).toBe(false);
});

test('storing an attestation throws if its receipt is not the stored one, or if it states a wrong size', async () => {
  const key = await endedJob();
  const input = await attestationInput(key);
  await expect(storeAttestation(db, { ...input, receipt_sha256: 'b'.repeat(64) })).rejects.toThrow(/receipt/);
  const other = await endedJob();
  const wrong = { ...(await attestationInput(other)), envelope_size_bytes: 1 };
  await expect(storeAttestation(db, wrong)).rejects.toThrow(/envelope/);
});

test('a withdrawn attestation is no longer available, and its job waits again', async () => {
  const key = await endedJob();
  await storeAttestation(db, await attestationInput(key));
  expect(await withdrawAttestation(db, { ...key, error: 'damaged', at: at(70) })).toBe(true);
  expect(await attestation(db, { key, part: 'envelope' })).toBeNull();
  expect(await outbox(db, { now: at(70), limit: 1 })).toEqual([{ ...key, created_at: at(70), attempts: 0 }]);
  expect(await counts(db)).toMatchObject({ outbox: 1, outbox_error: { message: 'damaged', at: at(70) } });
  expect(await withdrawAttestation(db, { ...key, error: 'damaged', at: at(71) })).toBe(false);
});
