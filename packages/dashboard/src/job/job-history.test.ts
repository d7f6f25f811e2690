import type { JobEvent, ServiceClient } from '@vouchbox/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { JobHistory } from './job-history.ts';

const line = (seq: number) => ({ job_id: 'job_1', seq, kind: 'stdout', data: { text: `line ${seq}` } }) as JobEvent;

beforeEach(() => {
  vi.stubGlobal('window', new EventTarget());
  vi.stubGlobal('navigator', { onLine: true });
  vi.stubGlobal('document', { hidden: false });
  vi.stubGlobal('requestAnimationFrame', (tell: () => void) => setImmediate(tell));
});
afterEach(() => vi.unstubAllGlobals());

describe('the history of a job', () => {
  test('stops asking when the service says that the history is over, even without a final event', async () => {
    const stop = new AbortController();
    const follow = vi.fn<ServiceClient['follow']>(async function* () {
      if (follow.mock.calls.length > 1) return stop.abort();
      yield* [line(1), line(2)];
    });
    const history = new JobHistory('job_1');
    await history.follow({ follow } as unknown as ServiceClient, stop.signal);
    expect(follow).toHaveBeenCalledTimes(1);
    await expect.poll(() => history.snapshot()).toMatchObject({ state: 'closed', isFinished: true, lineCount: 2 });
  });
});
