import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSigningKeys, rotateSigningKey, type SigningKeys } from '../job/sign/keys/signing-keys.ts';
import { logStatus, publicKeyBody, signerCapability, signerStatus } from './signer-facts.ts';

let dataDir: string;
let keys: SigningKeys;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-signer-'));
  keys = openSigningKeys(dataDir);
});
afterAll(() => rmSync(dataDir, { recursive: true }));

const early = { message: 'early', at: '2026-01-01T00:00:00.000Z' };
const late = { message: 'late', at: '2026-01-01T00:00:00.001Z' };
const signing = (problem: typeof early | null) => ({
  keys,
  attestor: { problem },
  logKeeper: { problem, witnesses: [{ name: 'w', state: 'signs' }] },
});

test.each([
  [null, null, null],
  [early, null, early],
  [null, late, late],
  [early, late, late],
  [late, early, late],
])('the status shows the later of two signing errors: %j and %j', (problem, outbox_error, told) => {
  expect(signerStatus(signing(problem), { outbox: 7, outbox_error })).toEqual({
    enabled: true,
    outbox_depth: 7,
    last_error: told?.message ?? null,
    last_error_at: told?.at ?? null,
  });
});

test('the status of a service without signing shows how many jobs wait for a signature, but no signing error', () => {
  expect(signerStatus(null, { outbox: 7, outbox_error: late })).toEqual({
    enabled: false,
    outbox_depth: 7,
    last_error: null,
    last_error_at: null,
  });
});

test('the status shows the progress of the log, and the error that stopped the log', () => {
  const counts = { host: 'log.example', tree: 2, size: 9, signed_size: 7, waiting: 3 };
  expect(logStatus(signing(early), 'log.example', counts)).toEqual({
    origin: 'log.example/log/2',
    size: 9,
    signed_size: 7,
    waiting: 3,
    last_error: early.message,
    last_error_at: early.at,
    witnesses: [{ name: 'w', state: 'signs' }],
  });
  expect(logStatus(signing(null), 'log.example', null)).toMatchObject({ origin: 'log.example/log/1', size: 0 });
  expect(logStatus(signing(null), null, null)).toBeNull();
});

test('a rotation of the signing key changes the published key and the capabilities at once', {
  tags: ['Bodies-8'],
}, () => {
  const before = publicKeyBody(signing(null).keys.published());
  const { current } = rotateSigningKey(dataDir);
  const after = publicKeyBody(signing(null).keys.published());
  expect(after.key_id).toBe(current);
  expect(after.public_key_pem).not.toBe(before.public_key_pem);
  expect(signerCapability(signing(null))).toEqual({ key_id: current, algorithm: 'Ed25519' });
  expect(after.trust_notice).toMatch(/not an independent trust anchor/);
});
