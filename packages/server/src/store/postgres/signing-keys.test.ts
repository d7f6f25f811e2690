import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agreedKeys } from '../../job/sign/keys/shared-keys.ts';
import { knownKeys, openSigningKeys, rotateSigningKey } from '../../job/sign/keys/signing-keys.ts';
import type { Fleet } from '../fleet.ts';
import { TestStore } from '../store.fixture.ts';

let directory: string;
let testStore: TestStore;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-keys-'));
  testStore = await TestStore.open();
});
afterEach(async () => {
  await testStore[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const retired = () => knownKeys(directory).filter(({ isCurrent }) => !isCurrent);

test('a signing node registers its earlier keys, and its current key last', async () => {
  const fleet = testStore.store.fleet as Fleet;
  const used = [openSigningKeys(directory).current().key_id];
  for (let turn = 0; turn < 2; turn += 1) used.push(rotateSigningKey(directory).current);
  await agreedKeys(openSigningKeys(directory), fleet, []);
  expect((await fleet.registeredKeys()).map(({ key_id }) => key_id)).toEqual(used.slice(-1));
  const keys = await agreedKeys(openSigningKeys(directory), fleet, retired());
  const registered = (await fleet.registeredKeys()).map(({ key_id }) => key_id);
  expect(registered.at(-1)).toBe(keys.current().key_id);
  expect(registered.toSorted()).toEqual(used.toSorted());
  await agreedKeys(openSigningKeys(directory), fleet, retired());
  expect((await fleet.registeredKeys()).map(({ key_id }) => key_id)).toEqual(registered);
});
