import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { GENESIS_HASH } from './chain.ts';
import { sealReceipt, type UnsealedReceipt, verifyReceipt } from './receipt.ts';

const unsealed: UnsealedReceipt = {
  schema_version: 4,
  job_id: 'job_1',
  tenant: 'acme',
  status: 'error',
  exit_code: null,
  signal: null,
  terminal_reason: 'server_restarted',
  created_at: '2026-01-01T00:00:00.000Z',
  started_at: null,
  finished_at: '2026-01-01T00:00:01.000Z',
  duration_ms: null,
  event_chain: { hash_version: 1, genesis: GENESIS_HASH, head: 'ab'.repeat(32), count: 3, complete: true },
};

describe('sealing (Spec § Receipt, receipt_sha256)', () => {
  const sealed = sealReceipt(unsealed);

  test('digests the canonical JSON of the receipt without receipt_sha256 (CHAIN-09)', {
    tags: ['Receipt-22', 'CHAIN-09'],
  }, () => {
    const text = sealed.json.replace(`"receipt_sha256":"${sealed.receipt_sha256}",`, '');
    expect(text).not.toContain('receipt_sha256');
    expect(createHash('sha256').update(text).digest('hex')).toBe(sealed.receipt_sha256);
  });

  test('gives the canonical text of the sealed receipt: members in order, no spaces', () => {
    expect(sealed.json).toMatch(
      /^\{"created_at":"2026-01-01T00:00:00\.000Z","duration_ms":null,"event_chain":\{"complete":true/,
    );
    expect(JSON.parse(sealed.json)).toEqual(sealed.receipt);
  });

  test('does not depend on the order of members', () => {
    const reversed = Object.fromEntries(Object.entries(unsealed).reverse()) as UnsealedReceipt;
    expect(sealReceipt(reversed).json).toBe(sealed.json);
  });
});

describe('verifying a receipt', () => {
  const { receipt, receipt_sha256, json } = sealReceipt(unsealed);

  test('reports a sealed receipt as intact, even after it was written and parsed again', () => {
    expect(verifyReceipt(receipt)).toEqual({ kind: 'intact', receipt_sha256 });
    expect(verifyReceipt(JSON.parse(json) as Record<string, unknown>)).toMatchObject({ kind: 'intact' });
  });

  test.each(Object.keys(unsealed))('notices a change of %s', { tags: ['CHAIN-09'] }, (member) => {
    expect(verifyReceipt({ ...receipt, [member]: 'x' })).toMatchObject({ kind: 'broken', stated: receipt_sha256 });
  });

  test('notices an added and a removed member, and a missing digest', () => {
    expect(verifyReceipt({ ...receipt, extra: 1 })).toMatchObject({ kind: 'broken' });
    expect(verifyReceipt({ ...receipt, tenant: undefined })).toMatchObject({ kind: 'broken' });
    expect(verifyReceipt({ ...unsealed })).toMatchObject({ kind: 'broken', stated: undefined });
  });

  test('reports a receipt without a canonical form as broken', () => {
    expect(verifyReceipt({ ...receipt, tenant: '\ud800' })).toMatchObject({ kind: 'broken', found: null });
  });
});
