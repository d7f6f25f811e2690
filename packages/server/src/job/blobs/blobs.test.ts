import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRateBudget } from '../../capacity/rate.ts';
import type { Caller } from '../../ground/caller.ts';
import { TestStore } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';
import { type Blobs, createBlobs, type Upload } from './blobs.ts';
import { pieceBytes } from './store-pieces.ts';

let testStore: TestStore;
let store: Store;
beforeAll(async () => {
  testStore = await TestStore.open();
  store = testStore.store;
});
afterAll(() => testStore[Symbol.asyncDispose]());

const callerOf = (tenant: string) => ({ tenant }) as Caller;
const acme = callerOf('acme');

/** Uploads to a store, with a budget of `burst` bytes. The test moves a clock. Each second of the clock gives back one byte. */
function uploads({ burst = 2 ** 30, over = store }: { burst?: number; over?: Store } = {}) {
  const clock = { seconds: 0 };
  const blobs = createBlobs({
    store: over,
    blobsMax: 100,
    bytesMax: 2 ** 30,
    keepMilliseconds: 1000,
    received: createRateBudget({ perSecond: 1, burst }, () => clock.seconds * 1000),
    checkFreeSpace: () => {},
  });
  return { blobs, clock };
}

function uploadOf(content: Uint8Array, sha256 = createHash('sha256').update(content).digest('hex')): Upload {
  async function* chunks() {
    for (let start = 0; start < content.length; start += 65_536) yield content.subarray(start, start + 65_536);
  }
  return { sha256, bytesMax: content.length, chunks: chunks() };
}

const wrong = 'ab'.repeat(32);
const budgetOf = (blobs: Blobs, caller = acme) => {
  try {
    blobs.checkBudget(caller);
    return 'left';
  } catch (error) {
    return error;
  }
};

describe('the tenant’s budget of uploaded bytes', { tags: ['Blobs-11', 'CROWD-03'] }, () => {
  test('is spent by all received bytes, whether they are stored, already known or refused', async () => {
    const { blobs, clock } = uploads({ burst: 1000 });
    const content = new Uint8Array(300).fill(1);
    expect((await blobs.receive(acme, uploadOf(content))).isKnown).toBe(false);
    expect((await blobs.receive(acme, uploadOf(content))).isKnown).toBe(true);
    expect(budgetOf(blobs)).toBe('left');
    await expect(blobs.receive(acme, uploadOf(new Uint8Array(500), wrong))).rejects.toMatchObject({
      code: 'digest_mismatch',
    });
    // The tenant was charged 1 byte for the check that passed, and 1,100 bytes for the content that arrived.
    expect(budgetOf(blobs)).toMatchObject({ code: 'rate_limited', status: 429, retryAfterSeconds: 102 });
    expect(budgetOf(blobs, callerOf('other'))).toBe('left');
    clock.seconds = 102;
    expect(budgetOf(blobs)).toBe('left');
  });

  test('is also spent by the bytes of an upload that breaks off', async () => {
    const { blobs } = uploads({ burst: 100 });
    async function* broken() {
      yield new Uint8Array(200);
      throw new Error('the client left');
    }
    await expect(blobs.receive(acme, { sha256: wrong, bytesMax: 1000, chunks: broken() })).rejects.toThrow('left');
    expect(budgetOf(blobs)).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 101 });
  });
});

test('uploads take turns, so that only one piece waits for the store at a time', {
  tags: ['CROWD-03'],
}, async () => {
  const waiting: string[] = [];
  const told: string[] = [];
  const over: Store = {
    ...store,
    async addPiece(piece) {
      waiting.push(piece.blob_id);
      told.push(`${piece.blob_id} with ${waiting.length}`);
      const isStored = await store.addPiece(piece);
      waiting.splice(waiting.indexOf(piece.blob_id), 1);
      return isStored;
    },
  };
  const { blobs } = uploads({ over });
  const contents = [1, 2, 3].map((byte) => new Uint8Array(3 * pieceBytes).fill(byte));
  await Promise.all(contents.map((content) => blobs.receive(acme, uploadOf(content))));
  const [first, second, third] = told;
  expect(told.every((line) => line.endsWith('with 1'))).toBe(true);
  expect(new Set([first, second, third]).size).toBe(3);
  expect(told).toHaveLength(9);
});

test('after each piece, uploads leave the store free for as long as the piece took', {
  tags: ['CROWD-03'],
}, async () => {
  const [began, ended]: [number[], number[]] = [[], []];
  const over: Store = {
    ...store,
    async addPiece(piece) {
      began.push(performance.now());
      const isStored = await store.addPiece(piece);
      ended.push(performance.now());
      return isStored;
    },
  };
  const { blobs } = uploads({ over });
  await blobs.receive(acme, uploadOf(new Uint8Array(3 * pieceBytes).fill(9)));
  for (const at of [1, 2]) {
    const [took, left] = [Number(ended[at - 1]) - Number(began[at - 1]), Number(began[at]) - Number(ended[at - 1])];
    // The uploads measure only a part of this time, and a timer may fire a little early.
    expect(left).toBeGreaterThanOrEqual(took / 2);
  }
});
