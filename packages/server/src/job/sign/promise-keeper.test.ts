import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  decodeEnvelope,
  decodeStatement,
  encodeBase64,
  findSignature,
  readPending,
  readPromise,
  sha256Hex,
} from '@vouchbox/evidence';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JobKey } from '../../store/records/rows.ts';
import { admitJob, at, TestStore } from '../../store/store.fixture.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { LogKeeper } from '../log/log-keeper.ts';
import { createNudges } from '../nudges.ts';
import { openSigningKeys, type SigningKeys } from './keys/signing-keys.ts';
import { PromiseKeeper, type PromiseKeeperOptions } from './promise-keeper.ts';
import { Signer } from './signer.ts';

let dataDir: string;
let testStore: TestStore;
let keys: SigningKeys;
let signer: Signer;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-promise-'));
  testStore = await TestStore.open();
  keys = openSigningKeys(dataDir);
  signer = new Signer();
});
afterEach(async () => {
  await signer[Symbol.asyncDispose]();
  await testStore[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true });
});

const log = createLog('silent');

function keeper(changes: Partial<PromiseKeeperOptions> = {}): PromiseKeeper {
  const { store } = testStore;
  return new PromiseKeeper({ store, keys, signer, seconds: 600, nudges: createNudges(), log, ...changes });
}

function logKeeper(): LogKeeper {
  const { store } = testStore;
  return new LogKeeper({ store, dataDir, host: 'log.example', keys, nudges: createNudges(), log });
}

const promised = () => admitJob(testStore.store, { promise: { due_at: at(100), answer_by: at(200) } });
const now = (milliseconds: number) => Date.parse(at(milliseconds));

async function envelopeOf(key: JobKey): Promise<Uint8Array> {
  const envelope = (await testStore.store.jobPromise(key))?.envelope;
  if (envelope == null) throw new Error('the promise is not signed');
  return envelope;
}

async function statementIn(envelope: Uint8Array) {
  const decoded = decodeEnvelope(envelope);
  if (decoded.kind === 'refused') throw new Error(decoded.reason);
  expect(await findSignature(decoded.envelope, [keys.current().pinned])).not.toBeNull();
  const statement = decodeStatement(decoded.envelope.payload);
  if (statement.kind === 'refused') throw new Error(statement.reason);
  return statement.statement;
}

test('a promise states which job was accepted, its submission, and the time by which the log answers', {
  tags: ['Promise-2'],
}, async () => {
  await logKeeper().logWhatWaits();
  const key = await promised();
  await keeper().keep(now(10));
  const read = readPromise(await statementIn(await envelopeOf(key)));
  expect(read).toMatchObject({
    kind: 'promise',
    predicate: {
      tenant: key.tenant,
      jobId: key.job_id,
      tenantJobNumber: 1,
      acceptedAt: at(0),
      answerBy: at(200),
      logOrigin: 'log.example/log/1',
      submission: { language: 'python', args_sha256: null },
    },
  });
});

test('no promise is signed before the log is open', async () => {
  const key = await promised();
  await keeper().keep(now(10));
  expect((await testStore.store.jobPromise(key))?.envelope).toBeNull();
  await logKeeper().logWhatWaits();
  await keeper().keep(now(10));
  expect((await testStore.store.jobPromise(key))?.envelope).not.toBeNull();
});

test('a promise that was not signed because the service died is signed later, unchanged', {
  tags: ['Promise-2'],
}, async () => {
  await logKeeper().logWhatWaits();
  const key = await promised();
  const died = new Error('died');
  const kept: Uint8Array[] = [];
  const sign: Signer['sign'] = async (...words) => {
    kept.push(...(await signer.sign(...words)).map(({ envelope }) => envelope));
    throw died;
  };
  await expect(keeper({ signer: { sign } }).keep(now(10))).rejects.toBe(died);
  await testStore.reopen();
  await keeper().keep(now(90));
  expect(encodeBase64(await envelopeOf(key))).toBe(encodeBase64(kept[0] ?? new Uint8Array()));
});

test('two nodes that sign the same statements at once make the same bytes', async () => {
  await logKeeper().logWhatWaits();
  const key = await promised();
  const made: string[] = [];
  const sign: Signer['sign'] = async (...words) => {
    const signed = await signer.sign(...words);
    made.push(...signed.map(({ envelope }) => encodeBase64(envelope)));
    return signed;
  };
  const both = (milliseconds: number) =>
    Promise.all([
      keeper({ signer: { sign } }).keep(now(milliseconds)),
      keeper({ signer: { sign } }).keep(now(milliseconds)),
    ]);
  await both(10);
  expect(new Set(made)).toEqual(new Set([encodeBase64(await envelopeOf(key))]));
  made.length = 0;
  await both(100);
  const pending = await testStore.store.pendingOf({ key, limit: 9 });
  expect(pending).toHaveLength(1);
  expect(new Set(made)).toEqual(new Set(pending.map(({ envelope }) => encodeBase64(envelope))));
});

test('before each promised time, the log states that a job still waits, and the job continues', {
  tags: ['Promise-4'],
}, async () => {
  await logKeeper().logWhatWaits();
  const key = await promised();
  expect(await keeper().keep(now(10))).toBe(90);
  for (const time of [100, 1_000_000]) await keeper().keep(now(time));
  await logKeeper().logWhatWaits();
  const pending = await testStore.store.pendingOf({ key, limit: 9 });
  expect(pending.map(({ position }) => position)).toEqual([1, 2]);
  const promiseSha256 = sha256Hex(await envelopeOf(key));
  for (const { envelope, stated_at, answer_by } of pending) {
    const read = readPending(await statementIn(envelope));
    expect(read).toMatchObject({
      kind: 'pending',
      predicate: { promiseSha256, statedAt: stated_at, answerBy: answer_by },
    });
    expect(Date.parse(answer_by) - Date.parse(stated_at)).toBe(600_000);
  }
  expect(await testStore.store.jobSummary(key)).toMatchObject({ status: 'queued' });
});
