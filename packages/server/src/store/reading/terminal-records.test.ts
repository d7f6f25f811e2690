import { afterAll, beforeAll, expect, test } from 'vitest';
import { finish } from '../evidence/outcomes.ts';
import { append, events } from '../history/events.ts';
import { unpackHistory } from '../history/packed-history.ts';
import { admit } from '../jobs/admission.ts';
import { job, start } from '../jobs/jobs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { admission, emptyStore, finishOf, newKey, startOf, stdout, type TestDatabase } from '../store.fixture.ts';
import { terminalRecords } from './terminal-records.ts';

let connection: TestDatabase;
let db: StoreDatabase;
beforeAll(async () => {
  connection = await emptyStore();
  db = connection.db;
});
afterAll(() => connection[Symbol.asyncDispose]());

async function endedJob(lines: readonly string[] = []): Promise<JobKey> {
  const key = newKey();
  await admit(db, admission(key));
  await start(db, startOf(key));
  await append(db, { key, events: lines.map((line) => stdout(line)) });
  await finish(db, finishOf(key));
  return key;
}

test('a record has the row, the receipt and every event as stored', async () => {
  const key = await endedJob(['hé', '']);
  const [result] = await terminalRecords(db, { keys: [key], bytesMax: 1 });
  if (result?.kind !== 'record') throw new Error(result?.kind);
  const { history, runs, salt, tenant_number, also, ...record } = result.record;
  expect(runs).toEqual([]);
  expect({ salt, tenant_number, also }).toEqual({
    also: null,
    salt: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    tenant_number: 1,
  });
  const row = await job(db, key);
  expect(row).toMatchObject(record);
  const page = await events(db, { key, after: 0, limit: 100 });
  const stored = unpackHistory(key.job_id, history).map((event) => ({
    ...event,
    data: JSON.parse(event.data),
  }));
  expect(stored).toEqual(page?.events);
  expect(stored).toHaveLength(5);
});

test('records of ended jobs are returned up to a number of bytes, but always at least one record', async () => {
  const keys = [await endedJob(['x'.repeat(1000)]), await endedJob(), await endedJob()];
  expect(await terminalRecords(db, { keys, bytesMax: 1 })).toHaveLength(1);
  const [first, second] = await terminalRecords(db, { keys, bytesMax: 1_000_000 });
  if (first?.kind !== 'record' || second?.kind !== 'record') throw new Error('two records were expected');
  const bytesOfFirst = first.record.receipt_json.length + first.record.history.length;
  expect(await terminalRecords(db, { keys, bytesMax: bytesOfFirst })).toHaveLength(1);
  expect(await terminalRecords(db, { keys, bytesMax: bytesOfFirst + 1 })).toHaveLength(2);
});

test('an unknown job, another tenant’s job and a job without a receipt have no record, and other jobs still have theirs', async () => {
  const [key, bare] = [await endedJob(), await endedJob()];
  await connection.rows(`delete from receipts where job_id = '${bare.job_id}'`);
  const keys = [newKey(), { ...key, tenant: 'other' }, bare, key];
  const results = await terminalRecords(db, { keys, bytesMax: 1_000_000 });
  expect(results.map(({ kind }) => kind)).toEqual(['absent', 'absent', 'absent', 'record']);
});
