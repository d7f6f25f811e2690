import { sealReceipt, sha256Hex } from '@vouchbox/evidence';
import { type EventBody, Receipt } from '@vouchbox/protocol';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobKey } from '../records/rows.ts';
import { admitJob, at, EXECUTION, finishOf, runJob, SPEC, stdout, TestStore } from '../store.fixture.ts';
import type { Store } from '../store.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

/** The stored receipt, after a check that it is sealed, is canonical and has the contract's shape. */
async function receiptOf(store: Store, key: JobKey): Promise<Receipt> {
  const job = await store.job(key);
  const receipt = JSON.parse(job?.receipt_json ?? 'null') as Receipt;
  expect(Value.Check(Receipt, receipt)).toBe(true);
  const { receipt_sha256, ...unsealed } = receipt;
  const sealed = sealReceipt(unsealed);
  expect(job?.receipt_json).toBe(sealed.json);
  expect(job?.receipt_sha256).toBe(sealed.receipt_sha256);
  expect(receipt_sha256).toBe(sealed.receipt_sha256);
  return receipt;
}

const content = (text: string) => new TextEncoder().encode(text);
function artifact(path: string, text: string) {
  const bytes = content(text);
  return { path, size_bytes: bytes.length, sha256: sha256Hex(bytes), content: bytes };
}

test('the outcome, the receipt, the last event and the outbox row of a job are stored in one transaction', {
  tags: ['What-4', 'States-3', 'Versioning-4'],
}, async () => {
  await using own = await TestStore.open();
  const { store } = own;
  const key = await runJob(store);
  await store.append(key, [stdout('a'), stdout('b')]);
  expect(await store.counts()).toMatchObject({ running: 1, outbox: 0 });
  expect(await store.finish(finishOf(key, { exit_code: 3, status: 'failed' }))).toBe(true);
  expect(await store.counts()).toMatchObject({ running: 0, outbox: 1 });
  const job = await store.job(key);
  expect(job).toMatchObject({ status: 'failed', exit_code: 3, terminal_reason: 'exited', finished_at: at(30) });
  const receipt = await receiptOf(store, key);
  const events = (await store.events({ key, after: 0, limit: 100 }))?.events ?? [];
  expect(receipt.event_chain).toEqual({
    hash_version: 1,
    genesis: '0'.repeat(64),
    head: events.at(-1)?.event_hash,
    count: 5,
    complete: true,
  });
});

test('the receipt covers the retained output, joined by single LFs without a trailing one (Spec § Receipt, output)', {
  tags: ['Receipt-13'],
}, async () => {
  const { store } = testStore;
  const key = await runJob(store);
  await store.append(key, [stdout('hé'), { kind: 'stderr', timestamp: at(1), data: { text: '', partial: true } }]);
  await store.append(key, [stdout('x')]);
  await store.finish(finishOf(key));
  expect((await receiptOf(store, key)).output).toEqual({
    encoding: 'utf8-event-lines-joined-by-lf-no-trailing-lf',
    stdout_bytes: 5,
    stdout_records: 2,
    stdout_sha256: sha256Hex('hé\nx'),
    stderr_bytes: 0,
    stderr_records: 1,
    stderr_sha256: sha256Hex(''),
  });
});

test('the receipt states what was observed, under the names of the contract', {
  tags: ['Receipt-2', 'Receipt-5'],
}, async () => {
  const { store } = testStore;
  const key = await runJob(store);
  const usage = { wall_ms: 20, cpu_ms: null, memory_peak_bytes: 1 };
  const stream = {
    bytes_seen: 1,
    bytes_offered_to_sink: 1,
    records_offered_to_sink: 1,
    raw_sha256: 'a'.repeat(64),
    executor_truncated: false,
  };
  const output = { stdout: stream, stderr: stream };
  await store.finish(finishOf(key, { usage, output }));
  const receipt = await receiptOf(store, key);
  expect(receipt).toMatchObject({ ...EXECUTION, resource_usage: usage, executor_output: output, schema_version: 4 });
  expect(receipt).toMatchObject({
    ...key,
    created_at: at(0),
    started_at: at(10),
    finished_at: at(30),
    duration_ms: 20,
  });
});

test('a recovery receipt has the job’s identity, outcome, times and chain, and nothing else (CHAIN-11)', {
  tags: ['Receipt-23', 'Receipt-24', 'CHAIN-11'],
}, async () => {
  const { store } = testStore;
  const key = await runJob(store);
  await store.append(key, [stdout('a')]);
  await store.finish(
    finishOf(key, {
      status: 'error',
      terminal_reason: 'server_restarted',
      exit_code: null,
      duration_ms: null,
      execution: null,
      usage: null,
      recovery: true,
    }),
  );
  const receipt = await receiptOf(store, key);
  expect(Object.keys(receipt).sort()).toEqual([
    'created_at',
    'duration_ms',
    'event_chain',
    'exit_code',
    'finished_at',
    'job_id',
    'receipt_sha256',
    'schema_version',
    'signal',
    'started_at',
    'status',
    'tenant',
    'terminal_reason',
  ]);
  expect(await store.job(key)).toMatchObject({ execution: null, terminal_reason: 'server_restarted' });
});

test('the receipt has no execution members if no executor observed the job (Spec § Receipt)', {
  tags: ['Receipt-11'],
}, async () => {
  const { store } = testStore;
  const key = await admitJob(store);
  await store.finish(
    finishOf(key, { status: 'error', terminal_reason: 'isolation_unsatisfied', exit_code: null, execution: null }),
  );
  const receipt = await receiptOf(store, key);
  for (const member of [...Object.keys(EXECUTION), 'resource_usage', 'executor_output']) {
    expect(receipt).not.toHaveProperty(member);
  }
  expect(receipt).toMatchObject({ started_at: null, language: 'python', requested_limits: SPEC.limits });
});

test('a queued job whose cell never became ready ends with the observations of that cell', {
  tags: ['Receipt-10'],
}, async () => {
  const { store } = testStore;
  const key = await admitJob(store);
  const none = { wall_seconds: null, cpu_seconds: null, mem_mb: null, max_pids: null, max_file_mb: null };
  const off = { wall_seconds: false, cpu_seconds: false, mem_mb: false, max_pids: false, max_file_mb: false };
  const execution = {
    ...EXECUTION,
    bootstrap_ready: false,
    isolation_class: null,
    private_rootfs: false,
    dedicated_bootstrap: false,
    seccomp: null,
    no_new_privileges: null,
    capabilities: null,
    network_allowed: null,
    networking: null,
    effective_limits: none,
    limit_enforcement: off,
  };
  const ended = { status: 'error', terminal_reason: 'bootstrap_failed', exit_code: null } as const;
  await store.finish(finishOf(key, { ...ended, execution, usage: null }));
  expect(await receiptOf(store, key)).toMatchObject(execution);
  expect((await store.job(key))?.execution).toEqual(execution);
  const kinds = (await store.events({ key, after: 0, limit: 9 }))?.events.map((event) => event.kind);
  expect(kinds).toEqual(['queued', 'finished']);
});

test('artifacts come back byte for byte, in order, and are named in the receipt', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  const artifacts = [
    artifact('output/z.txt', 'z'),
    { path: 'output/a.bin', size_bytes: bytes.length, sha256: sha256Hex(bytes), content: bytes },
    artifact('output/empty', ''),
  ];
  const events = artifacts.map(
    ({ path, size_bytes, sha256 }): EventBody => ({
      kind: 'artifact',
      timestamp: at(29),
      data: { path, size_bytes, sha256 },
    }),
  );
  await store.finish(finishOf(key, { artifacts, events }));
  expect(await store.artifacts(key)).toEqual(artifacts);
  const receipt = await receiptOf(store, key);
  expect(receipt.output_artifacts).toEqual(
    artifacts.map(({ path, size_bytes, sha256 }) => ({ path, size_bytes, sha256 })),
  );
  const kinds = (await store.events({ key, after: 2, limit: 9 }))?.events.map((event) => event.kind);
  expect(kinds).toEqual(['artifact', 'artifact', 'artifact', 'finished']);
});

test('a job may have no artifacts, and a job of another tenant is unknown', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  expect(await store.artifacts(key)).toEqual([]);
  expect(await store.artifacts({ ...key, tenant: 'other' })).toEqual([]);
});

test('a truncation sets truncated in the receipt (Spec § Receipt, truncated)', { tags: ['Receipt-14'] }, async () => {
  const { store } = testStore;
  const key = await runJob(store);
  const data = {
    stream: 'stderr',
    bytes_seen: 9,
    bytes_stored: 4,
    records_stored: 1,
    limit_bytes: 4,
    limit_records: 9,
  };
  await store.finish(finishOf(key, { events: [{ kind: 'truncated', timestamp: at(29), data } as EventBody] }));
  expect((await receiptOf(store, key)).truncated).toBe(true);
  expect((await store.jobSummary(key))?.truncated).toBe(true);
});

test('an ended job stays unchanged', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  await store.finish(finishOf(key));
  const before = await store.job(key);
  expect(await store.finish(finishOf(key, { status: 'error', terminal_reason: 'internal_error' }))).toBe(false);
  expect(await store.start({ ...key, created_at: at(0), started_at: at(99), execution: EXECUTION })).toBe(false);
  expect(await store.requestCancel({ ...key, principal: 'p', at: at(99) })).toEqual({ kind: 'already_terminal' });
  expect(await store.job(key)).toEqual(before);
});

test('an unknown job and the job of another tenant cannot be finished or started', async () => {
  const { store } = testStore;
  const key = await admitJob(store);
  const foreign = { ...key, tenant: 'other' };
  expect(await store.finish(finishOf(foreign))).toBe(false);
  expect(await store.start({ ...foreign, created_at: at(0), started_at: at(1), execution: EXECUTION })).toBe(false);
  expect(await store.finish(finishOf({ ...key, job_id: 'job_unknown' }))).toBe(false);
  expect((await store.job(key))?.status).toBe('queued');
});

test('if the transaction that ends a job fails, nothing is stored', async () => {
  const { store } = testStore;
  const key = await runJob(store);
  const bad = { ...artifact('output/a', 'a'), size_bytes: 0.5 };
  await expect(store.finish(finishOf(key, { artifacts: [artifact('output/b', 'b'), bad] }))).rejects.toMatchObject({
    code: 'internal',
  });
  expect(await store.job(key)).toMatchObject({ status: 'running', receipt_json: null });
  expect(await store.artifacts(key)).toEqual([]);
  const kinds = (await store.events({ key, after: 0, limit: 9 }))?.events.map((event) => event.kind);
  expect(kinds).toEqual(['queued', 'started']);
});

test('the receipt covers output that is stored as a packed run of records', {
  tags: ['Receipt-12', 'Receipt-21'],
}, async () => {
  await using own = await TestStore.open();
  const { store } = own;
  const key = await runJob(store);
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
  await store.append(
    key,
    lines.map((line) => stdout(line)),
  );
  await store.finish(finishOf(key));
  const { event_chain, output } = await receiptOf(store, key);
  // The events are `queued`, `started`, one for each line, and `finished`.
  expect(event_chain).toMatchObject({ count: 43, complete: true });
  const text = lines.join('\n');
  expect(output).toMatchObject({ stdout_bytes: text.length, stdout_sha256: sha256Hex(text) });
});
