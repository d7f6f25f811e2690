/** The log's tree in the store, compared with a tree that is kept in memory. */

import { encodeBase64, inclusionRanges, leafHash, rootOfInclusion } from '@vouchbox/evidence';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { slowTest } from '../../../../../test/rig/form.ts';
import { storeAttestation, withdrawAttestation } from '../evidence/attestations.ts';
import { finish } from '../evidence/outcomes.ts';
import { deleteEnded } from '../evidence/retention.ts';
import { admit } from '../jobs/admission.ts';
import { job } from '../jobs/jobs.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { admission, at, attestationOf, emptyStore, finishOf, newKey, type TestDatabase } from '../store.fixture.ts';
import { logState, openLog, reopenLog, sequenceLog, storeLogHead } from './log-state.ts';
import { logPlace, logPosition, logRanges, logTile } from './reading.ts';

const OPENING = {
  host: 'log.example',
  tree: 1,
  log_key: 'log.example/log/1+00000000+AQ==',
  opening: Uint8Array.of(1),
  body: Uint8Array.of(2),
};

let connection: TestDatabase;
let db: StoreDatabase;
beforeAll(async () => {
  connection = await emptyStore();
  db = connection.db;
});
afterAll(() => connection[Symbol.asyncDispose]());

const leaf = (at: number) => leafHash(new TextEncoder().encode(`statement ${at}`));

/** A job that ended at `milliseconds` and is attested with this leaf. */
async function attested(leaf_hash: Uint8Array | null, milliseconds = 30, to = db): Promise<JobKey> {
  const key = newKey();
  await admit(to, admission(key));
  await finish(to, finishOf(key, { finished_at: at(milliseconds) }));
  const receipt = (await job(to, key))?.receipt_sha256 ?? '';
  await storeAttestation(to, { ...attestationOf(key, receipt), leaf_hash });
  return key;
}

test('a log is opened once, with its opening statement as leaf 0', async () => {
  expect(await logState(db)).toBeNull();
  expect(await openLog(db, OPENING)).toMatchObject({ host: 'log.example', size: 1, head: null });
  expect(await openLog(db, { ...OPENING, host: 'else.example' })).toMatchObject({ host: 'log.example', size: 1 });
  expect(await logRanges(db, [{ start: 0, end: 1 }])).toEqual([leafHash(OPENING.body)]);
});

test('waiting statements get positions once, even if two nodes try at the same time', async () => {
  const [first, second] = [await attested(leaf(1)), await attested(leaf(2))];
  const unlogged = await attested(null);
  expect(await logPlace(db, first)).toMatchObject({ position: null });
  expect(await sequenceLog(db, { tree: 1, size: 0, most: 10 })).toBeNull();
  expect(await sequenceLog(db, { tree: 1, size: 1, most: 1 })).toBe(2);
  expect(await sequenceLog(db, { tree: 1, size: 1, most: 10 })).toBeNull();
  expect(await sequenceLog(db, { tree: 1, size: 2, most: 10 })).toBe(3);
  expect(await sequenceLog(db, { tree: 1, size: 3, most: 10 })).toBe(3);
  expect(await logPlace(db, first)).toMatchObject({ position: 1 });
  expect(await logPlace(db, second)).toMatchObject({ position: 2 });
  expect(await logPlace(db, unlogged)).toBeNull();
  expect(await logPosition(db, leaf(2))).toBe(2);
  expect(await logPosition(db, leaf(3))).toBeNull();
});

test('a head is stored if it is larger than the last one and not larger than the tree', async () => {
  const head = (size: number) => ({ tree: 1, size, checkpoint: `of ${size}`, rekor_head: `Rekor’s of ${size}` });
  expect(await storeLogHead(db, head(2))).toBe(true);
  expect(await storeLogHead(db, head(3))).toBe(true);
  expect(await storeLogHead(db, head(2))).toBe(false);
  expect(await storeLogHead(db, head(4))).toBe(false);
  const { tree: _, ...kept } = head(3);
  expect((await logState(db))?.head).toEqual(kept);
});

test('a node that still knows only the earlier tree adds nothing to the log, and stores no head', async () => {
  await using other = await emptyStore();
  await openLog(other.db, OPENING);
  await reopenLog(other.db, { from: 1, opening: { ...OPENING, tree: 2 } });
  await attested(leaf(1), 30, other.db);
  expect(await sequenceLog(other.db, { tree: 1, size: 1, most: 10 })).toBeNull();
  expect(await storeLogHead(other.db, { tree: 1, size: 1, checkpoint: 'of tree 1', rekor_head: 'of tree 1' })).toBe(
    false,
  );
  expect(await logState(other.db)).toMatchObject({ tree: 2, size: 1, head: null });
  expect(await sequenceLog(other.db, { tree: 2, size: 1, most: 10 })).toBe(2);
});

test('a withdrawn attestation keeps its leaf if it is made again unchanged, and otherwise gets a new leaf', async () => {
  const key = await attested(leaf(3));
  const receipt = (await job(db, key))?.receipt_sha256 ?? '';
  expect(await sequenceLog(db, { tree: 1, size: 3, most: 10 })).toBe(4);
  await withdrawAttestation(db, { ...key, error: 'damaged', at: at(90) });
  await storeAttestation(db, { ...attestationOf(key, receipt), leaf_hash: leaf(3) });
  expect(await logPlace(db, key)).toMatchObject({ position: 3 });
  await withdrawAttestation(db, { ...key, error: 'damaged', at: at(90) });
  await storeAttestation(db, { ...attestationOf(key, receipt), leaf_hash: leaf(4) });
  expect(await logPlace(db, key)).toMatchObject({ position: null });
  expect(await sequenceLog(db, { tree: 1, size: 4, most: 10 })).toBe(5);
  expect(await logPlace(db, key)).toMatchObject({ position: 4 });
});

test('a job is kept until it is in the log, and its leaf stays in the log when the job is removed', {
  tags: ['Log-5'],
}, async () => {
  const early = await attested(leaf(5), 1);
  const step = { before: at(2), limit: 10 };
  expect(await deleteEnded(db, { ...step, unattested: 'logged' })).toBe(0);
  expect(await sequenceLog(db, { tree: 1, size: 5, most: 10 })).toBe(6);
  expect(await deleteEnded(db, { ...step, unattested: 'logged' })).toBe(1);
  expect([await logPlace(db, early), await logPosition(db, leaf(5))]).toEqual([null, 5]);
});

slowTest('every proof in a tree of several tiles leads to the root', { timeout: 300_000 }, async () => {
  const size = 700;
  for (let at = 6; at < size; at += 100) {
    for (let each = at; each < Math.min(at + 100, size); each++) await attested(leaf(each));
    await sequenceLog(db, { tree: 1, size: at, most: 100 });
  }
  expect(await logState(db)).toMatchObject({ size });
  const [root] = await logRanges(db, [{ start: 0, end: size }]);
  for (const index of [1, 2, 255, 256, 511, 512, 650, 699]) {
    const proof = await logRanges(db, inclusionRanges(index, size));
    const [own = leaf(index)] = await logRanges(db, [{ start: index, end: index + 1 }]);
    expect(rootOfInclusion(own, { index, size, proof })).toEqual(root);
  }
  const tile = await logTile(db, { level: 1, index: 0, width: 2 });
  const [left, right] = await logRanges(db, [
    { start: 0, end: 256 },
    { start: 256, end: 512 },
  ]);
  expect(encodeBase64(tile)).toBe(Buffer.concat([left ?? tile, right ?? tile]).toString('base64'));
  expect(await logTile(db, { level: 0, index: 2, width: 188 })).toHaveLength(188 * 32);
});
