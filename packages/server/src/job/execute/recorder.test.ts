import { type EventBody, streamBytesMax, streamRecordsMax } from '@svc/protocol';
import { describe, expect, test } from 'vitest';
import { startClock } from './clock.ts';
import { createRecorder, type Recorder } from './recorder.ts';

const key = { tenant: 'acme', job_id: 'job_1' };

/** A recorder over a ledger that answers when the test says so. */
function recorderOverSlowLedger() {
  const batches: { events: readonly EventBody[]; answer: PromiseWithResolvers<boolean> }[] = [];
  let gaps = 0;
  const history = {
    append(_key: unknown, events: readonly EventBody[]) {
      const answer = Promise.withResolvers<boolean>();
      batches.push({ events, answer });
      return answer.promise;
    },
  };
  const clock = startClock('2026-01-01T00:00:00.000Z');
  const recorder = createRecorder({ history, key, clock, onGap: () => gaps++ });
  return { recorder, batches, gaps: () => gaps };
}

/** Answers every append, present and future, until nothing is waiting. */
async function storeAll(recorder: Recorder, batches: { answer: PromiseWithResolvers<boolean> }[]) {
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

describe('the recorder', () => {
  test('has one append in flight, and the next takes everything that came meanwhile, in order', async () => {
    const { recorder, batches } = recorderOverSlowLedger();
    recorder.sink('stdout', [{ text: 'a' }]);
    recorder.sink('stderr', [{ text: 'b' }]);
    recorder.sink('stdout', [{ text: 'c', partial: true }]);
    expect(batches.map(({ events }) => events.length)).toEqual([1]);
    expect(await storeAll(recorder, batches)).toEqual({ kind: 'whole' });
    expect(batches.map(({ events }) => events.map(({ kind, data }) => [kind, data]))).toEqual([
      [['stdout', { text: 'a' }]],
      [
        ['stderr', { text: 'b' }],
        ['stdout', { text: 'c', partial: true }],
      ],
    ]);
  });

  test('with nothing to write has nothing to wait for', async () => {
    const { recorder, batches } = recorderOverSlowLedger();
    recorder.sink('stdout', []);
    expect(await recorder.flush()).toEqual({ kind: 'whole' });
    expect(batches).toEqual([]);
  });

  test('bounds the events of one append', async () => {
    const { recorder, batches } = recorderOverSlowLedger();
    recorder.sink(
      'stdout',
      Array.from({ length: 2500 }, () => ({ text: 'x' })),
    );
    await storeAll(recorder, batches);
    expect(batches.map(({ events }) => events.length)).toEqual([1000, 1000, 500]);
  });

  test.each([
    ['records', streamRecordsMax, Array.from({ length: streamRecordsMax + 1 }, () => ({ text: '' })), streamRecordsMax],
    ['bytes', 2, [{ text: 'a'.repeat(streamBytesMax - 2) }, { text: '' }, { text: '' }], streamBytesMax],
  ])('keeps a stream within its cap of %s, whatever is offered', async (_cap, records, offered, bytes) => {
    const { recorder, batches } = recorderOverSlowLedger();
    recorder.sink('stdout', offered);
    recorder.sink('stderr', [{ text: 'other' }]);
    await storeAll(recorder, batches);
    expect(recorder.recorded('stdout')).toEqual({ records, bytes, overrun: true });
    expect(recorder.recorded('stderr')).toEqual({ records: 1, bytes: 6, overrun: false });
  });

  test('exactly at the caps nothing is overrun', async () => {
    const { recorder, batches } = recorderOverSlowLedger();
    recorder.sink('stdout', [{ text: 'é'.repeat(streamBytesMax / 2), partial: true }]);
    await storeAll(recorder, batches);
    expect(recorder.recorded('stdout')).toEqual({ records: 1, bytes: streamBytesMax, overrun: false });
  });

  test('stores nothing behind an append that failed, and says so once', async () => {
    const { recorder, batches, gaps } = recorderOverSlowLedger();
    recorder.sink('stdout', [{ text: 'a' }]);
    recorder.sink('stdout', [{ text: 'b' }]);
    const error = new Error('disk full');
    batches[0]?.answer.reject(error);
    expect(await recorder.flush()).toEqual({ kind: 'failed', error });
    recorder.sink('stdout', [{ text: 'c' }]);
    expect(await recorder.flush()).toEqual({ kind: 'failed', error });
    expect([batches.length, gaps()]).toEqual([1, 1]);
  });

  test('learns that the job is no longer running', async () => {
    const { recorder, batches, gaps } = recorderOverSlowLedger();
    recorder.sink('stdout', [{ text: 'a' }]);
    batches[0]?.answer.resolve(false);
    expect(await recorder.flush()).toEqual({ kind: 'superseded' });
    expect(gaps()).toBe(1);
  });
});
