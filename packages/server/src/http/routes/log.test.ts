/** What caches may keep from the log, tested on its routes over a store. */
import { leafHash } from '@vouchbox/evidence';
import { expect, test } from 'vitest';
import { publicLog } from '../../job/log/read-log.ts';
import type { LogOpening } from '../../store/records/log.ts';
import { admitJob, attestationOf, finishOf, TestStore } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { openServer } from '../server.fixture.ts';

const TILE = '/log/tile/0/000';

const bytesOf = (text: string) => new TextEncoder().encode(text);

function opening(tree: number): LogOpening {
  const text = bytesOf(`tree ${tree}`);
  return { host: 'log.example', tree, log_key: 'log.example/log/1+00000000+AQ==', opening: text, body: text };
}

async function attested(store: Store, at: number): Promise<void> {
  const key = await admitJob(store);
  await store.finish(finishOf(key));
  const receipt = (await store.job(key))?.receipt_sha256 ?? '';
  await store.storeAttestation({ ...attestationOf(key, receipt), leaf_hash: leafHash(bytesOf(`statement ${at}`)) });
}

/** Gives the waiting statements their positions, and stores a head over them. */
async function headOf(store: Store, tree = 1): Promise<void> {
  const size = await store.sequenceLog({ tree, size: 1, most: 300 });
  await store.storeLogHead({ tree, size: size ?? 0, checkpoint: 'a head', rekor_head: 'a head' });
}

test('a full tile’s ETag depends on its hashes, so that no cache shows a tile from an earlier tree', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  await using server = await openServer({ publicLog: publicLog({ store }) });
  const read = (etag = '') => fetch(server.url + TILE, { headers: { 'if-none-match': etag } });
  await store.openLog(opening(1));
  await Promise.all(Array.from({ length: 256 }, (_, at) => attested(store, at)));
  await headOf(store);
  const first = await read();
  const etag = first.headers.get('etag') ?? '';
  expect([first.status, first.headers.get('cache-control')]).toEqual([200, 'public, no-cache']);
  const same = await read(etag);
  expect([same.status, await same.text(), same.headers.get('etag')]).toEqual([304, '', etag]);
  expect(await store.reopenLog({ from: 1, opening: opening(2) })).toBe(true);
  await headOf(store, 2);
  const next = await read(etag);
  expect([next.status, next.headers.get('etag') === etag]).toEqual([200, false]);
  expect(Buffer.from(await next.arrayBuffer()).equals(Buffer.from(await first.arrayBuffer()))).toBe(false);
});

test('an answer from the log forbids caching if the answer may still grow', async () => {
  await using testStore = await TestStore.open();
  const { store } = testStore;
  await using server = await openServer({ publicLog: publicLog({ store }) });
  await store.openLog(opening(1));
  await attested(store, 0);
  await headOf(store);
  const answers = await Promise.all(['checkpoint', 'tile/0/000.p/2'].map((path) => fetch(`${server.url}/log/${path}`)));
  expect(answers.map(({ status, headers }) => [status, headers.get('cache-control')])).toEqual([
    [200, 'no-store'],
    [200, 'no-store'],
  ]);
});
