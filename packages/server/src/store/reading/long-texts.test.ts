/** A long text read in pieces equals the whole text, to the byte, even if events are added after its extent was read. */
import { foldOutput } from '@vouchbox/evidence';
import type { EventBody, JobEvent, OutputRecord } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { append } from '../history/events.ts';
import { partsOf } from '../history/output-run.ts';
import { admit } from '../jobs/admission.ts';
import { start } from '../jobs/jobs.ts';
import type { LongTextKind, TextExtent } from '../records/answers.ts';
import type { JobKey } from '../records/rows.ts';
import type { StoreDatabase } from '../schema.ts';
import { admission, at, emptyStore, finishOf, newKey, runJob, startOf, stdout, TestStore } from '../store.fixture.ts';
import { textExtent, textPiece } from './long-texts.ts';

let testStore: TestStore;
beforeAll(async () => {
  testStore = await TestStore.open();
});
afterAll(() => testStore[Symbol.asyncDispose]());

/** Texts that are longer in JSON, and a text that is longer than a piece. */
const RECORDS: readonly OutputRecord[] = [
  { text: 'a "quoted" \\ line' },
  { text: '' },
  { text: '\u0000\u001b[31m\u2028 é 😀', partial: true },
  ...Array.from({ length: 5500 }, (_, at) => ({ text: `${at} ${'é'.repeat(60)}` })),
  { text: '"'.repeat(16_384), partial: true },
];

function output(kind: 'stdout' | 'stderr', records: readonly OutputRecord[]): EventBody[] {
  return records.map((data) => ({ kind, timestamp: at(20), data }));
}

async function extentOf(key: JobKey, kind: LongTextKind, { after = 0, limit = 1_000_000 } = {}): Promise<TextExtent> {
  const extent = await testStore.store.textExtent({ key, kind, after, limit });
  if (extent === null) throw new Error('there is no such job');
  return extent;
}

async function piecesOf(key: JobKey, kind: LongTextKind, { from, until }: TextExtent): Promise<string[]> {
  const pieces: string[] = [];
  for (let after = from; after < until; ) {
    const piece = await testStore.store.textPiece({ key, kind, from, after, until });
    if (piece === null) throw new Error('the text ended early');
    pieces.push(Buffer.from(piece.content).toString());
    after = piece.last;
  }
  return pieces;
}

describe('the texts of a job with much output', () => {
  let key: JobKey;
  beforeAll(async () => {
    key = await runJob(testStore.store);
    const violation: EventBody = { kind: 'violation', timestamp: at(25), data: { type: 'memory', message: 'é' } };
    await testStore.store.append(key, [
      ...output('stdout', RECORDS),
      violation,
      violation,
      ...output('stderr', RECORDS),
    ]);
    await testStore.store.finish(finishOf(key));
  });

  test.each(['stdout', 'stderr'] as const)('include %s exactly as the program wrote it', async (kind) => {
    const extent = await extentOf(key, kind);
    const pieces = await piecesOf(key, kind, extent);
    expect(extent.text).toBeNull();
    expect(pieces.length).toBeGreaterThan(2);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(256 * 1024);
    expect(Buffer.byteLength(pieces.join(''))).toBe(extent.bytes);
    expect(JSON.parse(`"${pieces.join('')}"`)).toBe(foldOutput(RECORDS));
  });

  test.each([
    ['all of them', { after: 0, limit: 1_000_000 }],
    ['those after a cursor', { after: 2000, limit: 1_000_000 }],
    ['a page', { after: 3, limit: 1000 }],
    ['a short page', { after: 3, limit: 2 }],
    ['none', { after: 1_000_000, limit: 10 }],
  ])('include the events exactly as stored: %s', async (_which, page) => {
    const extent = await extentOf(key, 'events', page);
    const text = extent.text ?? (await piecesOf(key, 'events', extent)).join('');
    const expected = await testStore.store.events({ key, ...page });
    expect(Buffer.byteLength(text)).toBe(extent.bytes);
    expect(JSON.parse(`[${text}]`)).toEqual(expected?.events);
    expect(extent.complete).toBe(expected?.complete);
    expect(extent.until).toBe(expected?.events.at(-1)?.seq ?? page.after);
  });

  test('include short violations as one text', async () => {
    const { text } = await extentOf(key, 'violations');
    expect(JSON.parse(`[${text}]`)).toEqual([
      { type: 'memory', message: 'é' },
      { type: 'memory', message: 'é' },
    ]);
  });

  test('are not shown to another tenant', async () => {
    const foreign = { ...key, tenant: 'other' };
    expect(await testStore.store.textExtent({ key: foreign, kind: 'events', after: 0, limit: 9 })).toBeNull();
    expect(await testStore.store.textPiece({ key: foreign, kind: 'events', from: 0, after: 0, until: 9 })).toBeNull();
    expect(await testStore.store.artifactRecords(foreign)).toEqual([]);
    expect(await testStore.store.artifactPiece({ key: foreign, path: 'output/a', offset: 0, bytes: 9 })).toBeNull();
  });
});

test('a text that is too long to be joined is read piece by piece', async () => {
  const key = await runJob(testStore.store);
  const records = Array.from({ length: 300 }, (_, at) => ({ text: `${at} ${'"'.repeat(16_000)}` }));
  await testStore.store.append(key, [...output('stdout', records), ...output('stderr', [{ text: 'last' }])]);
  await testStore.store.finish(finishOf(key));
  const extent = await extentOf(key, 'stdout');
  expect(extent.bytes).toBeGreaterThan(8 * 2 ** 20);
  const text = (await piecesOf(key, 'stdout', extent)).join('');
  expect(Buffer.byteLength(text)).toBe(extent.bytes);
  expect(JSON.parse(`"${text}"`)).toBe(foldOutput(records));
  const events = (await piecesOf(key, 'events', await extentOf(key, 'events'))).join('');
  const expected = await testStore.store.events({ key, after: 0, limit: 1000 });
  expect(JSON.parse(`[${events}]`)).toEqual(expected?.events);
});

/** The first piece of a program's output, read on this thread. */
async function firstPieceOf(db: StoreDatabase, key: JobKey): Promise<Uint8Array | undefined> {
  const extent = await textExtent(db, { key, kind: 'stdout', after: 0, limit: 1000 });
  const piece = await textPiece(db, { key, kind: 'stdout', from: 0, after: 0, until: extent?.until ?? 0 });
  return piece?.content;
}

test.each([
  ['up to 2 MiB of JSON is kept, and its pieces are given again', 2, true],
  ['of more than 2 MiB of JSON is not kept, and its pieces are made again for each reader', 2.1, false],
])('a long text %s', async (_what, mebibytes, isKept) => {
  await using connection = await emptyStore();
  const { db } = connection;
  const key = newKey();
  await admit(db, admission(key));
  await start(db, startOf(key));
  // Each U+0000 takes six characters.
  const zeros = Math.floor((mebibytes * 2 ** 20) / 6 / 16) - 1;
  const events = Array.from({ length: 16 }, () => stdout('\0'.repeat(zeros)));
  await append(db, { key, events: partsOf(events) });
  const first = await firstPieceOf(db, key);
  const second = await firstPieceOf(db, key);
  expect(second).toEqual(first);
  expect(second === first).toBe(isKept);
});

test('a long text does not contain events that were added after it was measured', async () => {
  const key = await runJob(testStore.store);
  await testStore.store.append(key, output('stdout', RECORDS));
  const before = await extentOf(key, 'stdout');
  await testStore.store.append(key, [stdout('later')]);
  const text = (await piecesOf(key, 'stdout', before)).join('');
  expect(Buffer.byteLength(text)).toBe(before.bytes);
  expect(JSON.parse(`"${text}"`)).toBe(foldOutput(RECORDS));
  expect((await extentOf(key, 'stdout')).bytes).toBe(before.bytes + 'later\\n'.length);
});

test('reading a long text ends if its job is removed', async () => {
  const key = await runJob(testStore.store);
  await testStore.store.append(key, output('stdout', RECORDS));
  await testStore.store.finish(finishOf(key));
  const { from, until } = await extentOf(key, 'stdout');
  while ((await testStore.store.job(key)) !== null) {
    await testStore.store.deleteEnded({ before: at(1_000_000_000), limit: 1000, unattested: 'removed' });
  }
  expect(await testStore.store.textPiece({ key, kind: 'stdout', from, after: from, until })).toBeNull();
});

test('artifacts are listed without their content, which is read in pieces', async () => {
  const key = await runJob(testStore.store);
  const content = Uint8Array.from({ length: 1000 }, (_, index) => index % 251);
  const record = { path: 'output/a', size_bytes: content.length, sha256: 'a'.repeat(64) };
  await testStore.store.finish(finishOf(key, { artifacts: [{ ...record, content }] }));
  expect(await testStore.store.artifactRecords(key)).toEqual([record]);
  const piece = (offset: number, bytes: number) =>
    testStore.store.artifactPiece({ key, path: 'output/a', offset, bytes });
  expect(await piece(0, 300)).toEqual(content.subarray(0, 300));
  expect(await piece(900, 300)).toEqual(content.subarray(900));
  expect(await testStore.store.artifactPiece({ key: newKey(), path: 'output/a', offset: 0, bytes: 1 })).toBeNull();
});

test('a stored event of any kind is returned in the form of the contract', async () => {
  const key = await runJob(testStore.store);
  const { text } = await extentOf(key, 'events');
  const events = JSON.parse(`[${text}]`) as JobEvent[];
  expect(events.map((event) => Object.keys(event))).toEqual(
    events.map(() => ['job_id', 'seq', 'timestamp', 'kind', 'data', 'hash_version', 'prev_hash', 'event_hash']),
  );
});
