import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import { expect, test } from 'vitest';
import { SPEC, TestStore } from '../store.fixture.ts';

test('empty members that did not exist in the first version do not change the digest of a specification', async () => {
  await using testStore = await TestStore.open();
  const { args: _args, env: _env, ...older } = SPEC;
  const digest = await testStore.store.specDigest({ tenant: 'acme', spec: { ...SPEC, args: [], env: {} } });
  expect(digest).toBe(sha256Hex(canonicalJson(older)));
});

test('arguments and variables change the digest of a specification', async () => {
  await using testStore = await TestStore.open();
  const plain = { ...SPEC, args: [], env: {} };
  const all = [plain, { ...plain, args: [''] }, { ...plain, env: { A: '' } }, { ...plain, args: [''], env: { A: '' } }];
  const digests = await Promise.all(all.map((spec) => testStore.store.specDigest({ tenant: 'acme', spec })));
  expect(new Set(digests).size).toBe(4);
});
