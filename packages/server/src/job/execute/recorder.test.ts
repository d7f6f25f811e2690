import { type EventBody, streamBytesMax, streamRecordsMax } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { StoreError } from '../../store/store-error.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { startClock } from './clock.ts';
import { createRecorder, type Recorder } from './recorder.ts';

const log = createLog('silent');
const key = { tenant: 'acme', job_id: 'job_1' };

/** A stream that was cut after `bytes_seen` bytes. */
const cutAt = (bytes_seen: number) => ({ bytes_seen, bytes_stored: 2000, records_stored: 1000 });

/** A recorder whose store answers only when the test says so. */
function recorderOverSlowStore() {
  const batches: Batches = [];
  const giveUp = new AbortController();
  let gaps = 0;
  const history = {
    append(_key: unknown, events: readonly EventBody[]) {
      const answer = Promise.withResolvers<boolean>();
      batches.push({ events, answer });
      return answer.promise;
    },
  };
  const clock = startClock('2026-01-01T00:00:00.000Z');
  const recorder = createRecorder({ history, key, clock, log, giveUp: giveUp.signal, onGap: () => gaps++ });
  return { recorder, batches, giveUp, gaps: () => gaps };
}

type Batches = { events: readonly EventBody[]; answer: PromiseWithResolvers<boolean> }[];

/** Waits for `count` appends. */
async function appended(batches: Batches, count = 1): Promise<void> {
  await expect.poll(() => batches.length).toBe(count);
}

/** Answers appends until the waiting events are few enough to be stored with the end. */
async function storeAll(recorder: Recorder, batches: Batches) {
  const flushed = recorder.flush();
  let isDone = false;
  void flushed.then(() => {
    isDone = true;
  });
  while (!isDone) {
    for (const { answer } of batches) answer.resolve(true);
    await Promise.resolve();
  }
  return flushed;
}

describe('the recorder of a program’s output', () => {
  test('makes one append at a time, and all events that come meanwhile are in the next append, in order', async () => {
    const { recorder, batches } = recorderOverSlowStore();
    recorder.sink('stdout', [{ text: 'a' }]);
    await appended(batches);
    recorder.sink('stderr', [{ text: 'b' }]);
    recorder.sink('stdout', [{ text: 'c', partial: true }]);
    batches[0]?.answer.resolve(true);
    await appended(batches, 2);
    expect(batches.map(({ events }) => events.map(({ kind, data }) => [kind, data]))).toEqual([
      [['stdout', { text: 'a' }]],
      [
        ['stderr', { text: 'b' }],
        ['stdout', { text: 'c', partial: true }],
      ],
    ]);
    expect(await storeAll(recorder, batches)).toEqual({ kind: 'whole' });
    expect(recorder.unstored()).toEqual([]);
  });

  test('keeps the output of a short program in order, and leaves it to be stored with the program’s end', async () => {
    const { recorder, batches } = recorderOverSlowStore();
    recorder.sink('stdout', [{ text: 'a' }]);
    recorder.sink('stderr', [{ text: 'b' }], cutAt(9));
    recorder.sink('stdout', [{ text: 'c' }]);
    expect(await recorder.flush()).toEqual({ kind: 'whole' });
    expect(batches).toEqual([]);
    expect(recorder.unstored().map(({ kind, data }) => [kind, data])).toMatchObject([
      ['stdout', { text: 'a' }],
      ['stderr', { text: 'b' }],
      ['truncated', { stream: 'stderr', bytes_seen: 9 }],
      ['stdout', { text: 'c' }],
    ]);
  });

  test('does not wait for anything if the program wrote no output', async () => {
    const { recorder, batches } = recorderOverSlowStore();
    recorder.sink('stdout', []);
    expect(await recorder.flush()).toEqual({ kind: 'whole' });
    expect(batches).toEqual([]);
  });

  test('bounds the number of events in one append', async () => {
    const { recorder, batches } = recorderOverSlowStore();
    recorder.sink(
      'stdout',
      Array.from({ length: 2500 }, () => ({ text: 'x' })),
    );
    await storeAll(recorder, batches);
    expect(batches.map(({ events }) => events.length)).toEqual([1000, 1000]);
    expect(recorder.unstored()).toHaveLength(500);
  });

  test("stores a truncation in the append that stores the stream's last record", { tags: ['Events-6a'] }, async () => {
    const { recorder, batches } = recorderOverSlowStore();
    recorder.sink('stderr', [{ text: 'first' }]);
    await appended(batches);
    const last = Array.from({ length: 1000 }, () => ({ text: 'x' }));
    recorder.sink('stdout', last, cutAt(5000));
    recorder.sink('stderr', [{ text: 'second' }]);
    await storeAll(recorder, batches);
    expect(batches.map(({ events }) => [events.length, events.at(-1)?.kind])).toEqual([
      [1, 'stderr'],
      [1001, 'truncated'],
    ]);
    expect(batches[1]?.events.at(-1)?.data).toEqual({
      stream: 'stdout',
      ...cutAt(5000),
      limit_bytes: streamBytesMax,
      limit_records: streamRecordsMax,
    });
    expect(recorder.unstored().map(({ data }) => data)).toEqual([{ text: 'second' }]);
  });

  test('stores a truncation in an append of its own if no record is left', async () => {
    const { recorder } = recorderOverSlowStore();
    recorder.sink('stdout', [], cutAt(7));
    await recorder.flush();
    expect(recorder.unstored().map(({ kind }) => kind)).toEqual(['truncated']);
  });

  test('keeps a truncation that could not be stored, so that it is stored with the job’s end', async () => {
    const { recorder, batches } = recorderOverSlowStore();
    recorder.sink('stdout', [{ text: 'a' }], cutAt(2));
    await appended(batches);
    batches[0]?.answer.reject(new Error('disk full'));
    await recorder.flush();
    recorder.sink('stderr', [{ text: 'b' }], cutAt(3));
    expect(recorder.unstored().map(({ kind, data }) => [kind, data])).toMatchObject([
      ['truncated', { stream: 'stdout', bytes_seen: 2 }],
      ['truncated', { stream: 'stderr', bytes_seen: 3 }],
    ]);
  });

  test('stores nothing after a failed append, and reports the gap once', async () => {
    const { recorder, batches, gaps } = recorderOverSlowStore();
    recorder.sink('stdout', [{ text: 'a' }]);
    await appended(batches);
    recorder.sink('stdout', [{ text: 'b' }]);
    const error = new Error('disk full');
    batches[0]?.answer.reject(error);
    expect(await recorder.flush()).toEqual({ kind: 'failed', error });
    recorder.sink('stdout', [{ text: 'c' }]);
    expect(await recorder.flush()).toEqual({ kind: 'failed', error });
    expect([batches.length, gaps()]).toEqual([1, 1]);
  });

  test('waits while the disk is full, and stores everything once there is room', async () => {
    const { recorder, batches, gaps } = recorderOverSlowStore();
    recorder.sink('stdout', [{ text: 'a' }]);
    await appended(batches);
    recorder.sink('stdout', [{ text: 'b' }]);
    batches[0]?.answer.reject(new StoreError('full', 'no space is left'));
    await appended(batches, 2);
    expect(await storeAll(recorder, batches)).toEqual({ kind: 'whole' });
    expect(batches.map(({ events }) => events.map(({ data }) => data))).toEqual([[{ text: 'a' }], [{ text: 'a' }]]);
    expect(recorder.unstored().map(({ data }) => data)).toEqual([{ text: 'b' }]);
    expect(gaps()).toBe(0);
  });

  test('stops waiting for room when the service gives up', async () => {
    const { recorder, batches, giveUp } = recorderOverSlowStore();
    recorder.sink('stdout', [{ text: 'a' }]);
    await appended(batches);
    giveUp.abort();
    const error = new StoreError('full', 'no space is left');
    batches[0]?.answer.reject(error);
    expect(await recorder.flush()).toEqual({ kind: 'failed', error });
  });

  test('reports that the job no longer runs if the store refuses an append', async () => {
    const { recorder, batches, gaps } = recorderOverSlowStore();
    recorder.sink('stdout', [{ text: 'a' }]);
    await appended(batches);
    batches[0]?.answer.resolve(false);
    expect(await recorder.flush()).toEqual({ kind: 'superseded' });
    expect(gaps()).toBe(1);
  });
});
