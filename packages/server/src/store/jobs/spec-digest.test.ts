import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import { expect, test } from 'vitest';
import { memoryStore, SPEC } from '../store.fixture.ts';
import { specDigest } from './spec-digest.ts';

test('members that are empty and newer than the first keys are not in the digest', async () => {
  using connection = await memoryStore();
  const { args: _args, env: _env, ...older } = SPEC;
  const digest = await specDigest(connection.db, { ...SPEC, args: [], env: {} });
  expect(digest).toBe(sha256Hex(canonicalJson(older)));
});

test('arguments and variables are in the digest', async () => {
  using connection = await memoryStore();
  const plain = { ...SPEC, args: [], env: {} };
  const all = [plain, { ...plain, args: [''] }, { ...plain, env: { A: '' } }, { ...plain, args: [''], env: { A: '' } }];
  const digests = await Promise.all(all.map((spec) => specDigest(connection.db, spec)));
  expect(new Set(digests).size).toBe(4);
});
