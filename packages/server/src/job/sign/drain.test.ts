import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decodeEnvelope, preAuthEncoding } from '@vouchbox/evidence';
import { resultArtifactBytesMax } from '@vouchbox/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { withFaults } from '../../../test/job-rig.ts';
import type { AttestationInput } from '../../store/records/inputs.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { admitJob, at, finishOf, runJob, stdout, TestStore } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createNudges } from '../nudges.ts';
import { attestRecord } from './attest-record.ts';
import { drainOutbox } from './drain.ts';
import { openSigningKeys, type SigningKeys } from './keys/signing-keys.ts';
import { Signer } from './signer.ts';
import { audited, endedJob } from './signing.fixture.ts';

const signer = new Signer();
const keysDirectory = mkdtempSync(join(tmpdir(), 'svc-sign-'));
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

const log = createLog('silent');
const signal = new AbortController().signal;
const drain = (changes: Partial<Parameters<typeof drainOutbox>[0]> = {}) =>
  drainOutbox({ store, signer, nudges: createNudges(), log, signal, currentKey: () => keys.current(), ...changes });
const pem = () => keys.current().public_key_pem;

/** Changes the store's file behind the service's back. */
function tamper(statement: string, ...values: (string | number | Uint8Array)[]): void {
  using database = new DatabaseSync(testStore.path, { timeout: 5000 });
  expect(database.prepare(statement).run(...values).changes).toBe(1);
}

async function envelopeOf(key: JobKey): Promise<Uint8Array | undefined> {
  return (await store.attestation({ key, part: 'envelope' }))?.envelope;
}

describe('draining the outbox of unsigned jobs', () => {
  test('signs every job, however it ended, and each statement has a salt and the job’s number', {
    tags: ['Artifact-12', 'Artifact-13'],
  }, async () => {
    const ran = await endedJob(store, { lines: ['hé', '', 'x'.repeat(16_384)] });
    const failed = await endedJob(store, { status: 'failed', exit_code: 3 });
    const cancelled = await admitJob(store);
    await store.requestCancel({ ...cancelled, principal: 'p', at: at(1) });
    const recovered = await runJob(store);
    await store.finish(
      finishOf(recovered, {
        status: 'error',
        terminal_reason: 'server_restarted',
        exit_code: null,
        duration_ms: null,
        execution: null,
        usage: null,
        recovery: true,
      }),
    );
    await drain();
    expect(await store.counts()).toMatchObject({ outbox: 0, outbox_error: null });
    for (const key of [ran, failed]) {
      expect(await audited(store, key, pem())).toMatchObject({
        kind: 'verified',
        predicate: { tenant: 'acme', jobId: key.job_id, isolationClass: 'linux-shared-kernel', networking: 'disabled' },
      });
    }
    for (const key of [cancelled, recovered]) {
      expect(await audited(store, key, pem())).toMatchObject({
        kind: 'verified',
        predicate: { exitCode: null, isolationClass: null, networking: null },
      });
    }
    const verified = await Promise.all([ran, failed, cancelled, recovered].map((key) => audited(store, key, pem())));
    const predicates = verified.flatMap((result) => (result.kind === 'verified' ? [result.predicate] : []));
    expect(predicates.map(({ tenantJobNumber }) => tenantJobNumber)).toEqual([1, 2, 3, 4]);
    for (const { salt } of predicates) expect(salt).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(predicates.map(({ salt }) => salt)).size).toBe(4);
  });

  test('signs the jobs in the order in which they ended', { tags: ['RST-06'] }, async () => {
    const keysInOrder: JobKey[] = [];
    for (let ordinal = 0; ordinal < 150; ordinal++) {
      keysInOrder.push(await endedJob(store, { finished_at: at(1000 + ordinal) }));
    }
    const signed: string[] = [];
    const attest: Signer['attest'] = (records, key) => {
      signed.push(...records.map(({ job_id }) => job_id));
      return signer.attest(records, key);
    };
    await drain({ signer: { attest } });
    expect(signed).toEqual(keysInOrder.map(({ job_id }) => job_id));
    expect(await store.counts()).toMatchObject({ outbox: 0 });
  });

  test('stores an attestation of the job’s receipt', async () => {
    const key = await endedJob(store);
    await drain();
    const job = await store.job(key);
    const stored = await store.attestation({ key, part: 'result_artifact' });
    expect(stored).toMatchObject({ isIntact: true, row: { key_id: keys.current().key_id, tenant: 'acme' } });
    expect(stored?.row.receipt_sha256).toBe(job?.receipt_sha256);
    expect((await store.jobSummary(key))?.attestation_available).toBe(true);
  });
});

test('an attestation has an Ed25519 signature over the pre-authentication encoding, and a hint to find its key', {
  tags: ['What-4b'],
}, async () => {
  const key = await endedJob(store);
  await drain();
  const decoded = decodeEnvelope((await envelopeOf(key)) ?? new Uint8Array());
  if (decoded.kind !== 'envelope') throw new Error(decoded.reason);
  const { payload, payloadType, signatures } = decoded.envelope;
  const message = preAuthEncoding(payloadType, payload);
  expect(signatures).toHaveLength(1);
  expect(signatures[0]?.keyid).toBe(keys.current().key_id);
  expect(verify(null, message, createPublicKey(pem()), signatures[0]?.sig ?? new Uint8Array())).toBe(true);
});

describe('a damaged record is not signed (CHAIN-14)', { tags: ['CHAIN-14'] }, () => {
  const rots: readonly [what: string, statement: string, reason: RegExp][] = [
    ['an event', `update events set data = '{"text":"other"}' where kind = 'stdout'`, /chain is broken at 3: digest/],
    ['the text of an event', `update events set data = '{"text' where kind = 'stdout'`, /event 3 is not JSON/],
    ['a missing event', `delete from events where kind = 'stdout'`, /chain is broken at 3: sequence/],
    ['a cut-off tail', `delete from events where kind = 'finished'`, /chain is broken at 4: missing/],
    [
      'the receipt',
      `update receipts set receipt_json = replace(receipt_json, '"exit_code":0', '"exit_code":1')`,
      /digest/,
    ],
    ['the text of the receipt', `update receipts set receipt_json = '{'`, /receipt is not JSON/],
    ['the digest of the receipt', `update receipts set receipt_sha256 = 'f'`, /receipt does not match its digest/],
    ['no receipt', 'delete from receipts', /no receipt/],
    ['the salt', "update receipts set salt = 'f'", /salt is malformed/],
    ['the number of the job', 'update jobs set tenant_number = 0', /number is malformed/],
    ['the exit code of the row', 'update jobs set exit_code = 1', /exit_code differs from that of its receipt/],
    ['the status of the row', `update jobs set status = 'failed'`, /status differs from that of its receipt/],
    ['the end of the row', 'update jobs set finished_at = null', /finished_at differs from that of its receipt/],
    ['the truncation of the row', 'update jobs set truncated = 1', /truncated differs from that of its receipt/],
  ];

  test.each(rots)('%s', async (_what, statement, reason) => {
    const key = await endedJob(store);
    tamper(statement);
    await drain();
    expect(await store.attestation({ key, part: 'envelope' })).toBeNull();
    const { outbox, outbox_error } = await store.counts();
    expect(outbox).toBe(1);
    expect(outbox_error?.message).toMatch(reason);
    // Whatever the time, the job is not tried again before the next start.
    expect(await store.outbox({ now: '9999-12-31T23:59:59.999Z', limit: 1 })).toEqual([]);
  });

  const LINES = Array.from({ length: 40 }, (_, line) => `line ${line} of some length`);
  const rotsOfRuns: readonly [what: string, statement: string, reason: RegExp][] = [
    ['a run that is gone', 'delete from output_runs', /chain is broken at 3: sequence/],
    ['a run of another place', 'update output_runs set seq = seq + 1', /chain is broken at 3: sequence/],
    ['the digest before a run', `update output_runs set prev_hash = 'f'`, /chain is broken at 3: link/],
    ['the digests of a run', 'update output_runs set event_hashes = zeroblob(1280)', /chain is broken at 3: digest/],
    ['the text of a run', `update output_runs set content = x'28b52ffd00'`, /output after event 2 cannot be read/],
  ];

  test.each(rotsOfRuns)('%s', async (_what, statement, reason) => {
    const key = await endedJob(store, { lines: LINES });
    tamper(statement);
    await drain();
    expect(await store.attestation({ key, part: 'envelope' })).toBeNull();
    expect((await store.counts()).outbox_error?.message).toMatch(reason);
  });

  test('if one bit flips in the stored output of each of 200 jobs, no wrong statement is signed', async () => {
    const truths = new Map<JobKey, Buffer>();
    for (let ordinal = 0; ordinal < 200; ordinal++) {
      const key = await endedJob(store, { lines: [`job ${ordinal}`, ...LINES] });
      truths.set(key, await truthOf(key));
    }
    const random = seeded(11);
    for (const key of truths.keys()) flipOneBitOfRun(key, random);
    await drain();
    let refused = 0;
    const untrue: JobKey[] = [];
    for (const [key, truth] of truths) {
      const stored = await store.attestation({ key, part: 'result_artifact' });
      if (stored === null) refused++;
      else if (!Buffer.from(stored.result_artifact ?? []).equals(truth)) untrue.push(key);
    }
    expect(untrue).toEqual([]);
    expect(refused).toBeGreaterThan(190);
  });

  test('a damaged record does not delay the signing of other jobs', async () => {
    const [rotten, sound] = [await endedJob(store), await endedJob(store)];
    tamper(`update events set data = '{}' where kind = 'stdout' and job_id = ?`, rotten.job_id);
    await drain();
    expect(await store.attestation({ key: rotten, part: 'envelope' })).toBeNull();
    expect(await audited(store, sound, pem())).toMatchObject({ kind: 'verified' });
  });

  test('a damaged record is signed after it is repaired and the service is started again', async () => {
    const key = await endedJob(store);
    tamper('update jobs set exit_code = 1');
    await drain();
    tamper('update jobs set exit_code = 0');
    expect(await store.resumeAttestations(new Date().toISOString())).toBe(1);
    await drain();
    expect(await audited(store, key, pem())).toMatchObject({ kind: 'verified' });
    expect(await store.counts()).toMatchObject({ outbox: 0, outbox_error: null });
  });

  test('if one bit flips in the records of each of 300 jobs, no wrong statement is signed', async () => {
    const truths = new Map<string, Buffer>();
    const flipped: JobKey[] = [];
    for (let ordinal = 0; ordinal < 300; ordinal++) {
      const key = await endedJob(store, { lines: [`line ${ordinal}`] });
      truths.set(key.job_id, await truthOf(key));
      flipped.push(key);
    }
    const random = seeded(7);
    for (const key of flipped) flipOneBit(key, random);
    await drain();
    let refused = 0;
    const untrue: string[] = [];
    for (const { tenant, job_id } of flipped) {
      const stored = await store.attestation({ key: { tenant, job_id }, part: 'result_artifact' });
      const truth = truths.get(job_id) as Buffer;
      if (stored === null) refused++;
      // A flip that changes only white space or the like does not count, because the signed content is then still true.
      else if (!Buffer.from(stored.result_artifact ?? []).equals(truth)) untrue.push(job_id);
    }
    expect(untrue).toEqual([]);
    expect(refused).toBeGreaterThan(250);
  });
});

/** The result artifact that follows from the present record. */
async function truthOf(key: JobKey): Promise<Buffer> {
  const [result] = await store.terminalRecords({ keys: [key], bytesMax: 1 });
  if (result?.kind !== 'record') throw new Error('there is no record');
  const attested = attestRecord(result.record, { key_id: 'k', sign: () => new Uint8Array(64) });
  if (attested.kind !== 'attested') throw new Error(attested.kind);
  return Buffer.from(attested.attestation.result);
}

const TEXT_COLUMNS = [
  ['events', 'data'],
  ['events', 'timestamp'],
  ['events', 'kind'],
  ['events', 'event_hash'],
  ['events', 'prev_hash'],
  ['receipts', 'receipt_json'],
  ['receipts', 'receipt_sha256'],
  ['jobs', 'status'],
  ['jobs', 'terminal_reason'],
  ['jobs', 'finished_at'],
  ['jobs', 'created_at'],
  ['jobs', 'started_at'],
] as const;

function flipOneBit({ job_id }: JobKey, random: (below: number) => number): void {
  const [table, column] = TEXT_COLUMNS[random(TEXT_COLUMNS.length)] ?? TEXT_COLUMNS[0];
  using database = new DatabaseSync(testStore.path, { timeout: 5000 });
  const row = table === 'events' ? `job_id = ? and seq = ${1 + random(4)}` : 'job_id = ?';
  const found = database.prepare(`select ${column} as text from ${table} where ${row}`).get(job_id);
  const bytes = Buffer.from(String(found?.['text']));
  // ASCII stays ASCII, because SQLite does not return bytes that are not text.
  const bit = random(bytes.length * 7);
  const position = Math.floor(bit / 7);
  bytes[position] = (bytes[position] ?? 0) ^ (1 << (bit % 7));
  database.prepare(`update ${table} set ${column} = ? where ${row}`).run(bytes.toString(), job_id);
}

function flipOneBitOfRun({ job_id }: JobKey, random: (below: number) => number): void {
  const column = random(4) === 0 ? 'event_hashes' : 'content';
  using database = new DatabaseSync(testStore.path, { timeout: 5000 });
  const found = database.prepare(`select ${column} as bytes from output_runs where job_id = ?`).get(job_id);
  const bytes = Buffer.from(found?.['bytes'] as Uint8Array);
  const bit = random(bytes.length * 8);
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  database.prepare(`update output_runs set ${column} = ? where job_id = ?`).run(bytes, job_id);
}

/** A linear congruential generator, which gives the same numbers for the same seed. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

test('a result larger than 16 MiB is postponed until the next start, and the error states its size (ATT-09)', {
  tags: ['Limits-19', 'ATT-09'],
}, async () => {
  const small = await endedJob(store);
  const key = await runJob(store);
  await store.append(key, [stdout('x'.repeat(resultArtifactBytesMax))]);
  await store.finish(finishOf(key));
  await drain();
  expect(await store.attestation({ key, part: 'envelope' })).toBeNull();
  expect((await store.counts()).outbox_error?.message).toMatch(/^the result has 1677\d{4} bytes, more than 16777216$/);
  expect(await store.outbox({ now: '9999-12-31T23:59:59.999Z', limit: 1 })).toEqual([]);
  expect(await audited(store, small, pem())).toMatchObject({ kind: 'verified' });
});

test('a signer killed 100 times between signing and storing leaves one envelope with the same bytes (ATT-08)', {
  tags: ['ATT-08'],
}, async () => {
  const key = await endedJob(store);
  const signed: AttestationInput[] = [];
  const dead = withFaults(store, {
    storeAttestation: (input) => {
      signed.push(input);
      return Promise.reject(new Error('killed'));
    },
    postponeAttestation: () => Promise.reject(new Error('killed')),
  });
  for (let kills = 0; kills < 100; kills++) await expect(drain({ store: dead })).rejects.toThrow('killed');
  await drain();
  const stored = await store.attestation({ key, part: 'result_artifact' });
  expect(signed).toHaveLength(100);
  for (const { envelope, result_artifact } of signed) {
    expect(Buffer.from(envelope).equals(stored?.envelope ?? Buffer.of())).toBe(true);
    expect(Buffer.from(result_artifact).equals(stored?.result_artifact ?? Buffer.of())).toBe(true);
  }
  expect(await store.counts()).toMatchObject({ outbox: 0 });
});

test('two processes that drain at once store one attestation for each job', async () => {
  const jobs: JobKey[] = [];
  for (let ordinal = 0; ordinal < 20; ordinal++) jobs.push(await endedJob(store));
  await Promise.all([drain(), drain()]);
  expect(await store.counts()).toMatchObject({ outbox: 0, outbox_error: null });
  for (const key of jobs) expect(await audited(store, key, pem())).toMatchObject({ kind: 'verified' });
});

test('a record that crashes the signer is postponed, and the others are signed', async () => {
  const [poison, sound, other] = [await endedJob(store), await endedJob(store), await endedJob(store)];
  const attest: Signer['attest'] = (records, key) =>
    records.some(({ job_id }) => job_id === poison.job_id)
      ? Promise.reject(new Error('out of memory'))
      : signer.attest(records, key);
  await drain({ signer: { attest } });
  expect(await store.attestation({ key: poison, part: 'envelope' })).toBeNull();
  for (const key of [sound, other]) expect(await audited(store, key, pem())).toMatchObject({ kind: 'verified' });
  expect((await store.counts()).outbox_error?.message).toBe('signing failed');
  expect(await store.outbox({ now: '9999-12-31T23:59:59.999Z', limit: 9 })).toMatchObject([
    { job_id: poison.job_id, attempts: 1 },
  ]);
});

test('an attestation that cannot be stored is postponed for longer each time', async () => {
  const key = await endedJob(store);
  const full = withFaults(store, { storeAttestation: () => Promise.reject(new Error('no space')) });
  const waits: number[] = [];
  for (let attempts = 0; attempts < 3; attempts++) {
    const before = Date.now();
    await drain({
      store: withFaults(full, { outbox: ({ limit }) => store.outbox({ now: '9999', limit }) }),
      signal: once(),
    });
    using database = new DatabaseSync(testStore.path, { readOnly: true });
    const row = database.prepare('select due_at from attestation_outbox').get();
    waits.push(Date.parse(String(row?.['due_at'])) - before);
  }
  expect(waits[0]).toBeGreaterThanOrEqual(500);
  expect(waits[2]).toBeGreaterThanOrEqual(2000);
  await drain({ store: withFaults(store, { outbox: ({ limit }) => store.outbox({ now: '9999', limit }) }) });
  expect(await audited(store, key, pem())).toMatchObject({ kind: 'verified' });
});

/** A signal that lets one batch begin. */
function once(): AbortSignal {
  let looks = 0;
  return {
    get aborted() {
      return looks++ > 0;
    },
  } as AbortSignal;
}

test('draining ends with an error if the store cannot be read, and the next run signs the job', async () => {
  await endedJob(store);
  const blind = withFaults(store, { terminalRecords: () => Promise.reject(new Error('unreadable')) });
  await expect(drain({ store: blind })).rejects.toThrow('unreadable');
  expect(await store.counts()).toMatchObject({ outbox: 1, outbox_error: null });
  await drain();
  expect(await store.counts()).toMatchObject({ outbox: 0 });
});

test('after a rotation the new key signs, and earlier signatures stay unchanged', async () => {
  const first = await endedJob(store);
  const old = openSigningKeys(mkdtempSync(join(keysDirectory, 'old-')));
  await drain({ currentKey: () => old.current() });
  const second = await endedJob(store);
  await drain();
  expect(await audited(store, first, old.current().public_key_pem)).toMatchObject({ kind: 'verified' });
  expect(await audited(store, second, pem())).toMatchObject({ kind: 'verified' });
  expect(await audited(store, second, old.current().public_key_pem)).toMatchObject({ kind: 'refused' });
});
