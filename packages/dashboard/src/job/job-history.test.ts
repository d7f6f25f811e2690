import type { JobEvent, ServiceClient } from '@vouchbox/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { JobHistory } from './job-history.ts';

const output = (seq: number, data: object, kind = 'stdout') => ({ job_id: 'job_1', seq, kind, data }) as JobEvent;
const line = (seq: number) => output(seq, { text: `line ${seq}` });

/** The lines of a history with these events. */
async function linesOf(...events: readonly JobEvent[]) {
  async function* follow() {
    yield* events;
  }
  const history = new JobHistory('job_1');
  await history.follow({ follow } as unknown as ServiceClient, new AbortController().signal);
  return history.snapshot().lines;
}

beforeEach(() => {
  vi.stubGlobal('window', new EventTarget());
  vi.stubGlobal('navigator', { onLine: true });
  vi.stubGlobal('document', { hidden: false });
  vi.stubGlobal('requestAnimationFrame', (tell: () => void) => setImmediate(tell));
});
afterEach(() => vi.unstubAllGlobals());

describe('the history of a job', () => {
  test('makes no further request when the service ends the history, even without the event `finished`', async () => {
    const stop = new AbortController();
    const follow = vi.fn<ServiceClient['follow']>(async function* () {
      if (follow.mock.calls.length > 1) return stop.abort();
      yield* [line(1), line(2)];
    });
    const history = new JobHistory('job_1');
    await history.follow({ follow } as unknown as ServiceClient, stop.signal);
    expect(follow).toHaveBeenCalledTimes(1);
    await expect.poll(() => history.snapshot()).toMatchObject({ state: 'closed', isFinished: true });
    expect(history.snapshot().lines.both.length).toBe(2);
  });

  test('joins the 16 KiB records of a long line, even if records of the other stream come between them', async () => {
    const text = 'x'.repeat(16_384);
    const part = { text, partial: true };
    const { stdout, both } = await linesOf(
      output(1, part),
      output(2, { text: 'warned' }, 'stderr'),
      output(3, part),
      output(4, { text: 'end' }),
      output(5, { text: 'open', partial: true }),
    );
    expect(both.map(({ seq, number, isEnded }) => [seq, number, isEnded])).toEqual([
      [1, 1, true],
      [2, 2, true],
      [5, 3, false],
    ]);
    expect(stdout).toEqual([both[0], both[2]]);
    expect(both[0]?.text).toBe(`${text}${text}end`);
  });

  test("measures a line's indentation once its first visible character has arrived", async () => {
    const { both } = await linesOf(output(1, { text: '  ', partial: true }), output(2, { text: 'a' }), line(3));
    expect(both.map(({ indent }) => indent)).toEqual([2, 0]);
  });
});
