import { describe, expect, test } from 'vitest';
import { type ExecutionPredicate, executionPredicate, readPredicate } from './predicate.ts';
import { sealReceipt, type UnsealedReceipt } from './receipt.ts';
import type { TerminalJob } from './result-artifact.ts';

const job = {
  tenant: 'acme',
  job_id: 'job_a',
  status: 'succeeded',
  exit_code: 0,
  finished_at: '2026-01-01T00:00:01.000Z',
} as const;

/** The predicate of a job whose receipt also has these members. */
function predicateWith(members: object): ExecutionPredicate {
  const { receipt, receipt_sha256 } = sealReceipt({ ...job, ...members } as unknown as UnsealedReceipt);
  return executionPredicate(
    { ...job, receipt_sha256 } as TerminalJob,
    { ...receipt },
    { resultSizeBytes: 10, salt: null, tenant_number: null },
  );
}

describe('a predicate whose receipt does not state the event chain', () => {
  const old = predicateWith({});

  test('has null for the count and the head of the chain, and for the posture', () => {
    const unknown = { eventCount: null, eventChainHead: null, isolationClass: null, networking: null };
    expect(old).toMatchObject(unknown);
    expect(readPredicate({ ...old })).toEqual({ kind: 'predicate', predicate: old });
  });

  test.each([
    ['eventCount', 3],
    ['eventChainHead', 'ab'.repeat(32)],
    ['isolationClass', 'vm'],
    ['networking', 'none'],
  ])('is refused if its %s is not null', (name, value) => {
    const reason = `its ${name} contradicts its receipt`;
    expect(readPredicate({ ...old, [name]: value })).toEqual({ kind: 'refused', reason });
  });
});

test('a predicate states the count and the head of the event chain from its receipt', () => {
  const head = 'cd'.repeat(32);
  const predicate = predicateWith({ event_chain: { head, count: 4 } });
  expect(predicate).toMatchObject({ eventChainHead: head, eventCount: 4 });
  expect(readPredicate({ ...predicate, eventCount: 5 })).toMatchObject({ kind: 'refused' });
});

describe('optional members of a predicate', { tags: ['Artifact-14'] }, () => {
  const { receipt, receipt_sha256 } = sealReceipt(job as unknown as UnsealedReceipt);
  const kept = { resultSizeBytes: 10, salt: 'a5'.repeat(16), tenant_number: 3 };
  const ended = { ...job, receipt_sha256 } as TerminalJob;
  const predicate = executionPredicate(ended, { ...receipt }, kept);

  test('are stated if their values were stored with the job, and are otherwise absent', () => {
    expect(predicate).toMatchObject({ salt: 'a5'.repeat(16), tenantJobNumber: 3 });
    expect(readPredicate({ ...predicate })).toEqual({ kind: 'predicate', predicate });
    const older = executionPredicate(ended, { ...receipt }, { ...kept, salt: null, tenant_number: null });
    expect(Object.keys(older).filter((name) => ['salt', 'tenantJobNumber', 'also'].includes(name))).toEqual([]);
    expect(readPredicate({ ...older })).toEqual({ kind: 'predicate', predicate: older });
  });

  test('are kept unchanged if they have members that a later version added', () => {
    const later = { ...predicate, also: { canary: { sha256: 'cd'.repeat(32) }, build: null } };
    expect(readPredicate(later)).toEqual({ kind: 'predicate', predicate: later });
  });

  test.each([
    ['salt', 'a5'.repeat(15)],
    ['salt', 'A5'.repeat(16)],
    ['salt', null],
    ['tenantJobNumber', 0],
    ['tenantJobNumber', 1.5],
    ['tenantJobNumber', '3'],
    ['also', []],
    ['also', 'more'],
  ])('are refused if they have this value: %s is %j', (name, value) => {
    const reason = `its ${name} is malformed`;
    expect(readPredicate({ ...predicate, [name]: value })).toEqual({ kind: 'refused', reason });
  });
});
