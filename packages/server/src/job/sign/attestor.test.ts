import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withFaults } from '../../../test/job-rig.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { TestStore } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createNudges, type Nudges } from '../nudges.ts';
import { Attestor } from './attestor.ts';
import { keyPaths } from './keys/key-files.ts';
import { openSigningKeys, type SigningKeys } from './keys/signing-keys.ts';
import { SignerError } from './signer.ts';
import { audited, endedJob } from './signing.fixture.ts';

let keysDirectory: string;
let keys: SigningKeys;
let testStore: TestStore;
let store: Store;
let nudges: Nudges;
beforeEach(async () => {
  keysDirectory = mkdtempSync(join(tmpdir(), 'svc-attestor-'));
  keys = openSigningKeys(keysDirectory);
  testStore = await TestStore.open();
  store = testStore.store;
  nudges = createNudges();
});
afterEach(async () => {
  await testStore[Symbol.asyncDispose]();
  rmSync(keysDirectory, { recursive: true });
});

const log = createLog('silent');

/** An attestor whose store reports each attestation that it stores or postpones. */
class Watched implements AsyncDisposable {
  readonly #attestor: Attestor;
  readonly #done = new Map<string, PromiseWithResolvers<void>>();
  readonly order: string[] = [];

  constructor(faults: Partial<Store> = {}) {
    const over = withFaults(store, faults);
    const told = withFaults(over, {
      storeAttestation: async (input) => {
        const stored = await over.storeAttestation(input);
        this.order.push(input.job_id);
        this.#of(input.job_id).resolve();
        return stored;
      },
      postponeAttestation: async (input) => {
        const postponed = await over.postponeAttestation(input);
        this.#of(input.job_id).resolve();
        return postponed;
      },
    });
    this.#attestor = new Attestor({ store: told, keys, nudges, log });
    this.#attestor.start();
  }

  get problem() {
    return this.#attestor.problem;
  }

  /** Resolves once the job was attested or postponed. */
  settled({ job_id }: JobKey): Promise<void> {
    return this.#of(job_id).promise;
  }

  #of(job_id: string): PromiseWithResolvers<void> {
    const known = this.#done.get(job_id) ?? Promise.withResolvers<void>();
    this.#done.set(job_id, known);
    return known;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#attestor[Symbol.asyncDispose]();
  }
}

const isAttested = async (key: JobKey) => (await store.jobSummary(key))?.attestation_available;

test('jobs that an earlier process left unsigned are signed at the start', { tags: ['RST-06'] }, async () => {
  const key = await endedJob(store);
  await using attestor = new Watched();
  await attestor.settled(key);
  expect(await audited(store, key, keys.current().public_key_pem)).toMatchObject({ kind: 'verified' });
});

test('a job is signed when the attestor is told about its end', { tags: ['What-4a'] }, async () => {
  await using attestor = new Watched();
  for (let ordinal = 0; ordinal < 3; ordinal++) {
    const key = await endedJob(store);
    nudges.send('outbox');
    await attestor.settled(key);
    expect(await isAttested(key)).toBe(true);
  }
  expect(attestor.problem).toBeNull();
});

test('attestations that an earlier process postponed indefinitely are tried again at the start', async () => {
  const key = await endedJob(store);
  await store.postponeAttestation({ ...key, due_at: null, error: 'e', at: '2026-01-01T00:00:00.000Z' });
  await using attestor = new Watched();
  await attestor.settled(key);
  expect(await isAttested(key)).toBe(true);
});

describe('without a usable key (ATT-07)', () => {
  test('jobs end unsigned, the status says why, and once the key is back, the waiting jobs are signed in order', async () => {
    const { privateKey } = keyPaths(keysDirectory);
    renameSync(privateKey, `${privateKey}.away`);
    const looked = Promise.withResolvers<void>();
    await using attestor = new Watched({
      outbox: (due) => {
        looked.resolve();
        return store.outbox(due);
      },
    });
    const jobs = [await endedJob(store), await endedJob(store), await endedJob(store)];
    nudges.send('outbox');
    await looked.promise;
    while (attestor.problem === null) await new Promise(setImmediate);
    expect(attestor.problem.message).toBe('the signing key is missing');
    for (const key of jobs) {
      expect((await store.job(key))?.status).toBe('succeeded');
      expect(await isAttested(key)).toBe(false);
    }
    renameSync(`${privateKey}.away`, privateKey);
    for (const key of jobs) await attestor.settled(key);
    expect(attestor.order).toEqual(jobs.map(({ job_id }) => job_id));
    while (attestor.problem !== null) await new Promise(setImmediate);
  });
});

test('the attestor reports a store error, tries again and signs every job', async () => {
  const key = await endedJob(store);
  let failures = 0;
  await using attestor = new Watched({
    outbox: (due) => (failures++ < 1 ? Promise.reject(new Error('/secret/path is gone')) : store.outbox(due)),
  });
  while (attestor.problem === null) await new Promise(setImmediate);
  expect(attestor.problem.message).toBe('the store could not be read or written');
  await attestor.settled(key);
  expect(await isAttested(key)).toBe(true);
});

test('a stopping attestor waits until the signature in progress is stored, and ends its thread', async () => {
  const jobs: JobKey[] = [];
  for (let ordinal = 0; ordinal < 200; ordinal++) jobs.push(await endedJob(store));
  const attestor = new Watched();
  await attestor.settled(jobs[0] ?? { tenant: '', job_id: '' });
  await attestor[Symbol.asyncDispose]();
  const { outbox } = await store.counts();
  expect(outbox).toBe(200 - attestor.order.length);
  await using next = new Watched();
  for (const key of jobs.filter(({ job_id }) => !attestor.order.includes(job_id))) await next.settled(key);
  expect(await store.counts()).toMatchObject({ outbox: 0, outbox_error: null });
});

test('if the signing thread signs nothing at all, the node reports a problem and postpones no job', async () => {
  const key = await endedJob(store);
  const postponed: string[] = [];
  const told = Promise.withResolvers<void>();
  await using attestor = new Attestor({
    store: withFaults(store, {
      postponeAttestation: (input) => {
        postponed.push(input.job_id);
        return store.postponeAttestation(input);
      },
    }),
    keys,
    nudges,
    log,
    signer: { attest: () => Promise.reject(new SignerError('the thread that signs ended')) },
    onProblemChange: () => told.resolve(),
  });
  attestor.start();
  await told.promise;
  expect(attestor.problem?.message).toBe('the thread that signs ended');
  expect(postponed).toEqual([]);
  expect(await isAttested(key)).toBe(false);
});
