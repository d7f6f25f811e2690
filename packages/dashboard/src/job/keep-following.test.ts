import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { keepFollowing } from './keep-following.ts';

const lost = new TransportFailure('network', 'lost');
const failure = (retryable: boolean) =>
  Object.assign(Object.create(ServiceFailure.prototype) as ServiceFailure, { retryable });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('window', new EventTarget());
  vi.stubGlobal('navigator', { onLine: true });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('following a job in the browser', () => {
  test.each([lost, failure(true)])(
    'continues after a temporary failure, and reports that it reconnects',
    async (error) => {
      const tryOnce = vi.fn<() => Promise<void>>().mockRejectedValueOnce(error);
      const onState = vi.fn<(state: string) => void>();
      const followed = keepFollowing(tryOnce, { signal: new AbortController().signal, onState });
      await vi.advanceTimersByTimeAsync(1999);
      expect([tryOnce.mock.calls.length, onState.mock.calls]).toEqual([1, [['reconnecting']]]);
      await vi.advanceTimersByTimeAsync(1);
      await followed;
      expect(tryOnce).toHaveBeenCalledTimes(2);
    },
  );

  test('ends if the service refuses', async () => {
    const tryOnce = vi.fn<() => Promise<void>>().mockRejectedValue(failure(false));
    const followed = keepFollowing(tryOnce, { signal: new AbortController().signal });
    await expect(followed).rejects.toMatchObject({ retryable: false });
  });

  test('ends without a failure when the user leaves the view', async () => {
    const left = new AbortController();
    const tryOnce = vi.fn<() => Promise<void>>().mockRejectedValue(lost);
    const followed = keepFollowing(tryOnce, { signal: left.signal });
    await vi.advanceTimersByTimeAsync(0);
    left.abort();
    await followed;
    expect(tryOnce).toHaveBeenCalledTimes(1);
  });

  test('reconnects at once when the browser is online again, even if the connection seemed open', async () => {
    const tryOnce = vi
      .fn<(signal: AbortSignal) => Promise<void>>()
      .mockImplementationOnce(async (signal) => {
        window.dispatchEvent(new Event('offline'));
        window.dispatchEvent(new Event('online'));
        signal.throwIfAborted();
      })
      .mockResolvedValue();
    const states: string[] = [];
    await keepFollowing(tryOnce, { signal: new AbortController().signal, onState: (state) => states.push(state) });
    expect([tryOnce.mock.calls.length, states]).toEqual([2, ['offline', 'reconnecting']]);
  });
});
