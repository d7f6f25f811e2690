import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { beforeDiscarding } from './unread-body.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** An answer to a request whose body nobody reads, and whether it is over. */
async function answering() {
  const request = new PassThrough();
  const pieces = beforeDiscarding(Buffer.from('refused'), request as unknown as IncomingMessage);
  const { value } = await pieces.next();
  let isOver = false;
  void pieces.next().then(() => {
    isOver = true;
  });
  await setImmediate();
  return { request, sent: value?.toString(), isOver: () => isOver };
}

describe('the answer to a request whose body is still arriving and is not read', () => {
  test('stays open until the rest of the body has arrived', async () => {
    const { request, sent, isOver } = await answering();
    expect([sent, isOver()]).toEqual(['refused', false]);
    request.end('rest');
    await setImmediate();
    await setImmediate();
    expect(isOver()).toBe(true);
  });

  test('ends when no byte has arrived for half a second', async () => {
    const { isOver } = await answering();
    await vi.advanceTimersByTimeAsync(499);
    expect(isOver()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver()).toBe(true);
  });

  test('ends after two seconds, even if bytes still arrive', async () => {
    const { request, isOver } = await answering();
    for (let passed = 0; passed < 1900; passed += 100) {
      request.write('x');
      await setImmediate();
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(isOver()).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    expect(isOver()).toBe(true);
  });

  test('ends when its client leaves', async () => {
    const { request, isOver } = await answering();
    request.destroy(new Error('reset'));
    await setImmediate();
    await setImmediate();
    expect(isOver()).toBe(true);
  });

  test.each([
    ['has arrived whole', (request: PassThrough) => request.end()],
    ['will never arrive', (request: PassThrough) => request.destroy()],
  ])('ends at once if the body %s', async (_when, end) => {
    const request = new PassThrough();
    end(request.resume());
    await setImmediate();
    const pieces = beforeDiscarding(Buffer.from('refused'), request as unknown as IncomingMessage);
    expect((await Array.fromAsync(pieces)).map(String)).toEqual(['refused']);
  });
});
