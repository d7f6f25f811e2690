/** A job's detail is made from stored data, and claims nothing else. */
import type { JobDetail } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import {
  admission,
  at,
  attestationOf,
  EXECUTION,
  finishOf,
  newKey,
  runJob,
  SPEC,
  startOf,
  TestStore,
} from '../store.fixture.ts';

async function detailOf(testStore: TestStore, key: ReturnType<typeof newKey>): Promise<JobDetail | null> {
  const text = await testStore.store.jobDetail(key);
  return text === null ? null : (JSON.parse(text) as JobDetail);
}

test('the detail of a queued job states nothing about an execution, and has no receipt', {
  tags: ['Detail-2'],
}, async () => {
  await using testStore = await TestStore.open();
  const key = newKey();
  await testStore.store.admit(admission(key));
  const detail = await detailOf(testStore, key);
  expect(detail).toMatchObject({ ...key, status: 'queued', cancellation_requested: false, requested_spec: SPEC });
  expect(detail).toMatchObject({ effective_spec: null, backend: null, seccomp: null, limit_enforcement: null });
  expect(detail).not.toHaveProperty('receipt');
  expect(detail).not.toHaveProperty('receipt_sha256');
});

test('the detail of an ended job has the observed posture, and the receipt byte for byte', async () => {
  await using testStore = await TestStore.open();
  const key = await runJob(testStore.store);
  await testStore.store.finish(finishOf(key, { execution: EXECUTION }));
  const row = await testStore.store.job(key);
  const text = await testStore.store.jobDetail(key);
  expect(text).toContain(`"receipt":${row?.receipt_json},"receipt_sha256":"${row?.receipt_sha256}"`);
  expect(await detailOf(testStore, key)).toMatchObject({
    status: 'succeeded',
    terminal_reason: 'exited',
    started_at: at(10),
    effective_spec: { isolation_class: EXECUTION.isolation_class, limits: EXECUTION.effective_limits },
    limit_enforcement: EXECUTION.limit_enforcement,
    receipt_sha256: row?.receipt_sha256,
  });
});

test('the detail of a job with an attestation describes the attestation', async () => {
  await using testStore = await TestStore.open();
  const key = await runJob(testStore.store);
  await testStore.store.finish(finishOf(key));
  const { receipt_sha256 = '', attestation: before } = (await detailOf(testStore, key)) ?? {};
  const { available, ...others } = before ?? {};
  expect([available, new Set(Object.values(others))]).toEqual([false, new Set([null])]);
  const stored = attestationOf(key, receipt_sha256);
  await testStore.store.storeAttestation(stored);
  const { attestation } = (await detailOf(testStore, key)) ?? {};
  const { key_id, result_sha256, result_size_bytes, envelope_sha256, envelope_size_bytes } = stored;
  expect(attestation).toEqual({
    available: true,
    tenant: key.tenant,
    key_id,
    receipt_sha256,
    result_media_type: 'application/vnd.svc.execution-result.v1+json',
    result_sha256,
    result_size_bytes,
    envelope_sha256,
    envelope_size_bytes,
    envelope_url: `/v1/jobs/${key.job_id}/attestation`,
    result_artifact_url: `/v1/jobs/${key.job_id}/result-artifact`,
  });
});

test('the detail of an unknown job and of another tenant’s job is null', async () => {
  await using testStore = await TestStore.open();
  const key = newKey();
  await testStore.store.admit(admission(key));
  await testStore.store.start(startOf(key));
  expect(await detailOf(testStore, { ...key, tenant: 'umbrella' })).toBeNull();
  expect(await detailOf(testStore, newKey())).toBeNull();
});

test('the detail of a running job says that its cancellation was requested', { tags: ['Cancel-1'] }, async () => {
  await using testStore = await TestStore.open();
  const key = await runJob(testStore.store);
  expect(await detailOf(testStore, key)).toMatchObject({ cancellation_requested: false });
  await testStore.store.requestCancel({ ...key, principal: 'alice', at: at(20) });
  expect(await detailOf(testStore, key)).toMatchObject({ cancellation_requested: true });
});
