import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decodeEnvelope, encodeEnvelope, sha256Hex } from '@vouchbox/evidence';
import type { JobDetail } from '@vouchbox/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JobKey } from '../../store/records/rows.ts';
import { admitJob, finishOf, runJob, TestStore } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createNudges } from '../nudges.ts';
import { createObjectContents } from '../object-contents.ts';
import { drainOutbox } from '../sign/drain.ts';
import { openSigningKeys, rotateSigningKey, type SigningKeys } from '../sign/keys/signing-keys.ts';
import { Signer } from '../sign/signer.ts';
import { audited, endedJob } from '../sign/signing.fixture.ts';
import { attestationBytes } from './attestation.ts';

const signer = new Signer();
const keysDirectory = mkdtempSync(join(tmpdir(), 'svc-view-'));
const log = createLog('silent');
let keys: SigningKeys;
let testStore: TestStore;
let store: Store;
beforeAll(() => {
  keys = openSigningKeys(keysDirectory);
});
beforeEach(async () => {
  testStore = await TestStore.open();
  store = testStore.store;
});
afterEach(() => testStore[Symbol.asyncDispose]());
afterAll(async () => {
  await signer[Symbol.asyncDispose]();
  rmSync(keysDirectory, { recursive: true });
});

const sign = (currentKey = () => keys.current()) =>
  drainOutbox({ store, signer, nudges: createNudges(), log, signal: new AbortController().signal, currentKey });

/** Reads a part as HTTP does. */
function read(key: JobKey, part: 'envelope' | 'result_artifact' = 'envelope') {
  return attestationBytes(key, part, optionsOf());
}

const objects = createObjectContents(null, log);
const optionsOf = () => ({ store, keys, objects, isSigning: true, nudges: createNudges(), log });

async function attestedJob(): Promise<JobKey> {
  const key = await endedJob(store);
  await sign();
  return key;
}

function tamper(statement: string, ...values: (string | number | Uint8Array)[]): void {
  using database = new DatabaseSync(testStore.path, { timeout: 5000 });
  expect(database.prepare(statement).run(...values).changes).toBeGreaterThan(0);
}

test('the stored bytes of an attestation are returned with their digest, even after a restart (ATT-05)', {
  tags: ['Evidence-1', 'ATT-05'],
}, async () => {
  const key = await attestedJob();
  const first = [await read(key), await read(key, 'result_artifact')];
  for (const { bytes, sha256 } of first) expect(sha256Hex(bytes)).toBe(sha256);
  expect([await read(key), await read(key, 'result_artifact')]).toEqual(first);
  store = await testStore.reopen();
  keys = openSigningKeys(keysDirectory);
  expect([await read(key), await read(key, 'result_artifact')]).toEqual(first);
});

test('an attestation signed with an old key is returned unchanged after a rotation', async () => {
  const key = await attestedJob();
  const before = await read(key);
  rotateSigningKey(keysDirectory);
  expect(keys.current().key_id).not.toBe((await store.attestation({ key, part: 'envelope' }))?.row.key_id);
  expect(await read(key)).toEqual(before);
});

describe('a job without an attestation', { tags: ['Attestation-3'] }, () => {
  test.each([
    ['is queued', () => admitJob(store), 'job_not_terminal'],
    ['runs', () => runJob(store), 'job_not_terminal'],
    ['has ended and is not signed', () => endedJob(store), 'attestation_unavailable'],
    ['is unknown', async () => ({ tenant: 'acme', job_id: 'job_unknown' }), 'job_not_found'],
    ['is of another tenant', async () => ({ ...(await attestedJob()), tenant: 'other' }), 'job_not_found'],
  ])('a request for the attestation of a job that %s is refused', async (_how, make, code) => {
    const key = await make();
    await expect(read(key)).rejects.toMatchObject({ code });
    await expect(read(key, 'result_artifact')).rejects.toMatchObject({ code });
  });

  test('a request for an unsigned job’s attestation is refused as disabled while signing is off', async () => {
    const off = attestationBytes(await endedJob(store), 'envelope', { ...optionsOf(), isSigning: false });
    await expect(off).rejects.toMatchObject({ code: 'attestation_disabled', retryable: false });
  });
});

describe('the attestations of a service with signing off', { tags: ['Evidence-8'] }, () => {
  test('are returned unchanged if they were signed before', async () => {
    const key = await attestedJob();
    const before = await read(key);
    expect(await attestationBytes(key, 'envelope', { ...optionsOf(), isSigning: false })).toEqual(before);
  });

  test('are kept, but not returned, if their signature cannot be checked', async () => {
    const key = await attestedJob();
    const off = { ...optionsOf(), isSigning: false, keys: { publicKey: () => null } };
    await expect(attestationBytes(key, 'envelope', off)).rejects.toMatchObject({ code: 'signing_key_unknown' });
    expect(await store.attestation({ key, part: 'envelope' })).not.toBeNull();
  });
});

describe('the attestations of several nodes with one store', () => {
  const knowing = (publicKey: SigningKeys['publicKey']) => ({
    ...optionsOf(),
    keys: { publicKey, learn: async () => {} },
  });

  test('an attestation signed with a key that no node knows is kept, but not returned', {
    tags: ['Evidence-9'],
  }, async () => {
    const key = await attestedJob();
    const before = await store.attestation({ key, part: 'envelope' });
    const refused = attestationBytes(
      key,
      'envelope',
      knowing(() => null),
    );
    await expect(refused).rejects.toMatchObject({ code: 'signing_key_unknown', retryable: false });
    expect(await store.attestation({ key, part: 'envelope' })).toEqual(before);
    const known = knowing((key_id) => keys.publicKey(key_id));
    expect((await attestationBytes(key, 'envelope', known)).sha256).toBe(before?.row.envelope_sha256);
  });

  test('a changed attestation is withdrawn, whatever key its row names', async () => {
    const key = await attestedJob();
    tamper(`update attestations set key_id = 'sha256:f'`);
    const known = knowing((key_id) => keys.publicKey(key_id));
    await expect(attestationBytes(key, 'envelope', known)).rejects.toMatchObject({ retryAfterSeconds: 1 });
    expect(await store.attestation({ key, part: 'envelope' })).toBeNull();
  });
});

describe('a tampered attestation is never returned, but withdrawn and signed again (ATT-10)', {
  tags: ['ATT-10'],
}, () => {
  /** Expects that both parts are refused, and that a new attestation verifies and equals the first. */
  async function expectWithdrawn(key: JobKey, before: Uint8Array): Promise<void> {
    const nudges: string[] = [];
    const options = { ...optionsOf(), nudges: { send: (topic: string) => nudges.push(topic) }, log };
    await expect(attestationBytes(key, 'result_artifact', options)).rejects.toMatchObject({
      code: 'attestation_unavailable',
      retryable: true,
      retryAfterSeconds: 1,
    });
    expect(nudges).toEqual(['outbox']);
    await expect(read(key)).rejects.toMatchObject({ code: 'attestation_unavailable' });
    expect((await store.jobSummary(key))?.attestation_available).toBe(false);
    await sign();
    expect(await audited(store, key, keys.current().public_key_pem)).toMatchObject({ kind: 'verified' });
    expect(Buffer.from((await read(key)).bytes).equals(before)).toBe(true);
  }

  test.each([
    ['a byte of the envelope', 'update attestations set envelope = zeroblob(envelope_size_bytes)'],
    ['a byte of the result artifact', 'update attestations set result_artifact = zeroblob(result_size_bytes)'],
    ['the digest of the envelope', `update attestations set envelope_sha256 = 'f'`],
    ['the size of the result artifact', 'update attestations set result_size_bytes = 1'],
    ['the digest of the receipt', `update attestations set receipt_sha256 = 'f'`],
    ['the key', `update attestations set key_id = 'sha256:f'`],
  ])('a change of %s is found', async (_what, statement) => {
    const key = await attestedJob();
    const before = (await read(key)).bytes;
    tamper(statement);
    await expectWithdrawn(key, before);
  });

  const SWAP = `update attestations set (result_artifact, result_sha256, result_size_bytes, envelope, envelope_sha256,
    envelope_size_bytes, receipt_sha256) = (select result_artifact, result_sha256, result_size_bytes, envelope,
    envelope_sha256, envelope_size_bytes, attestations.receipt_sha256 from attestations as other where other.job_id = ?)
    where job_id = ?`;

  test('an attestation that was moved from another job is withdrawn', async () => {
    const [key, other] = [await attestedJob(), await attestedJob()];
    const before = (await read(key)).bytes;
    tamper(SWAP, other.job_id, key.job_id);
    await expectWithdrawn(key, before);
  });

  test('an attestation that was moved from another tenant is withdrawn', async () => {
    const key = await attestedJob();
    const before = (await read(key)).bytes;
    const other = await runJob(store, { tenant: 'other', job_id: `${key.job_id.slice(0, -1)}x` });
    await store.finish(finishOf(other));
    await sign();
    tamper(SWAP, other.job_id, key.job_id);
    await expectWithdrawn(key, before);
  });

  test('an envelope that was moved from another job together with its digests is withdrawn', async () => {
    const [key, other] = [await attestedJob(), await attestedJob()];
    const before = (await read(key)).bytes;
    tamper(
      `update attestations set (envelope, envelope_sha256, envelope_size_bytes) =
        (select envelope, envelope_sha256, envelope_size_bytes from attestations as other where other.job_id = ?)
        where job_id = ?`,
      other.job_id,
      key.job_id,
    );
    await expectWithdrawn(key, before);
  });

  test('a payload that was changed under the old signature, together with its digests, is withdrawn', async () => {
    const key = await attestedJob();
    const before = (await read(key)).bytes;
    const decoded = decodeEnvelope(before);
    if (decoded.kind !== 'envelope') throw new Error(decoded.reason);
    const payload = new TextDecoder().decode(decoded.envelope.payload).replace('"exitCode":0', '"exitCode":1');
    const forged = encodeEnvelope({ ...decoded.envelope, payload: new TextEncoder().encode(payload) });
    tamper('update attestations set envelope = ?, envelope_sha256 = ?', forged, sha256Hex(forged));
    await expectWithdrawn(key, before);
  });

  test('a result artifact that was changed together with its digest is withdrawn', async () => {
    const key = await attestedJob();
    const before = (await read(key)).bytes;
    const result = Buffer.from((await read(key, 'result_artifact')).bytes);
    result.write('hullo', result.indexOf('hello'));
    tamper('update attestations set result_artifact = ?, result_sha256 = ?', result, sha256Hex(result));
    await expectWithdrawn(key, before);
  });

  test('an envelope that was signed with another service’s key is withdrawn', async () => {
    const key = await endedJob(store);
    const foreign = openSigningKeys(mkdtempSync(join(keysDirectory, 'foreign-')));
    await sign(() => foreign.current());
    await expect(read(key)).rejects.toMatchObject({ code: 'attestation_unavailable' });
  });
});

describe('the detail of a job', () => {
  const detailOf = async (key: JobKey) => JSON.parse((await store.jobDetail(key)) ?? 'null') as JobDetail;

  test('describes the attestation and says where it is, once the job has one', async () => {
    const key = await endedJob(store);
    const detail = () => detailOf(key);
    const nothing = Object.fromEntries(Object.keys((await detail()).attestation).map((name) => [name, null]));
    expect((await detail()).attestation).toEqual({ ...nothing, available: false });
    await sign();
    const envelope = await read(key);
    const result = await read(key, 'result_artifact');
    expect((await detail()).attestation).toEqual({
      available: true,
      tenant: 'acme',
      key_id: keys.current().key_id,
      receipt_sha256: (await detail()).receipt_sha256,
      result_media_type: 'application/vnd.svc.execution-result.v1+json',
      result_sha256: result.sha256,
      result_size_bytes: result.bytes.length,
      envelope_sha256: envelope.sha256,
      envelope_size_bytes: envelope.bytes.length,
      envelope_url: `/v1/jobs/${key.job_id}/attestation`,
      result_artifact_url: `/v1/jobs/${key.job_id}/result-artifact`,
    });
  });

  test('says that no attestation is available if the stored one is for another receipt', async () => {
    const key = await attestedJob();
    tamper(`update attestations set receipt_sha256 = 'f'`);
    expect((await detailOf(key)).attestation.available).toBe(false);
  });
});
