import { afterEach, expect, test, vi } from 'vitest';
import type { StoreDatabase } from '../schema.ts';
import type { StoreError } from '../store-error.ts';
import { Channel } from './channel.ts';
import { threadsOf } from './threads.ts';

afterEach(() => void vi.useRealTimers());

/** The source of a thread that opens, then runs `onCalls` on each group of calls. */
function threadThat(onCalls: string): string {
  const source = `
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ kind, calls }) => {
      if (kind === 'open') parentPort.postMessage({ kind: 'open', names: [] });
      if (kind === 'close') parentPort.close();
      if (kind === 'calls') { ${onCalls} }
    });`;
  return encodeURIComponent(source);
}

type Command = (db: StoreDatabase, input: unknown) => Promise<unknown>;
/** Nobody waits for calls to `later`. */
type Echo = { readonly echo: Command; readonly later: Command };

/** A thread that runs this module. */
function threadOf(source: string) {
  return threadsOf(new URL(`data:text/javascript,${source}`)).reader({ place: 'unused', check: 'off' });
}

async function openChannel(onCalls: string): Promise<{ channel: Channel<Echo>; problems: StoreError[] }> {
  const problems: StoreError[] = [];
  const channel = new Channel<Echo>({
    thread: threadOf(threadThat(onCalls)),
    isPatient: (name) => name === 'later',
    onProblem: (problem) => problems.push(problem),
  });
  await channel.open();
  return { channel, problems };
}

const ECHO = `parentPort.postMessage({ kind: 'answers', answers: calls.map(({ id, input }) => ({ id, value: input })) });`;

test('calls from one turn of the event loop are sent together, and each gets its own answer', async () => {
  const { channel } = await openChannel(ECHO.replace('value: input', 'value: [input, calls.length]'));
  await using _ = channel;
  expect(await Promise.all([channel.call('echo', 'a'), channel.call('echo', 'b')])).toEqual([
    ['a', 2],
    ['b', 2],
  ]);
});

test('calls that nobody waits for are sent with the next call that somebody waits for', async () => {
  const { channel } = await openChannel(ECHO.replace('value: input', 'value: [input, calls.length]'));
  await using _ = channel;
  const later = channel.call('later', 1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await Promise.all([later, channel.call('echo', 2)])).toEqual([
    [1, 2],
    [2, 2],
  ]);
});

test('calls that nobody waits for are sent after a while, even if no other call comes', async () => {
  const { channel } = await openChannel(ECHO.replace('value: input', 'value: [input, calls.length]'));
  await using _ = channel;
  expect(await Promise.all([channel.call('later', 1), channel.call('later', 2)])).toEqual([
    [1, 2],
    [2, 2],
  ]);
});

test('disposing sends the delayed calls at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const { channel } = await openChannel(ECHO);
  const later = channel.call('later', 'last');
  await channel[Symbol.asyncDispose]();
  expect(await later).toBe('last');
});

test('when the thread exits, waiting and later calls are refused as unavailable, and its owner learns of it', async () => {
  const { channel, problems } = await openChannel('process.exit(3);');
  const waiting = [channel.call('echo', 1), channel.call('echo', 2)];
  for (const call of waiting) await expect(call).rejects.toMatchObject({ name: 'StoreError', code: 'unavailable' });
  await expect(channel.call('echo', 3)).rejects.toMatchObject({ code: 'unavailable' });
  await channel.ended;
  expect(problems).toMatchObject([{ code: 'unavailable' }]);
});

test('if the thread throws errors, the first error is reported', async () => {
  const { channel, problems } = await openChannel(`throw new Error('broken thread');`);
  const refusal = await channel.call('echo', 1).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'unavailable', cause: { message: 'broken thread' } });
  await channel[Symbol.asyncDispose]();
  expect(problems).toEqual([refusal]);
});

test('opening fails if the thread dies before it is open', async () => {
  const channel = new Channel({
    thread: threadOf(`throw new Error('cannot load')`),
    onProblem: () => {},
  });
  await expect(channel.open()).rejects.toMatchObject({ code: 'unavailable' });
  await channel[Symbol.asyncDispose]();
});

test('a call that cannot be sent is refused, and the channel continues', async () => {
  const { channel } = await openChannel(ECHO);
  await using _ = channel;
  await expect(channel.call('echo', () => {})).rejects.toMatchObject({ code: 'internal' });
  expect(await channel.call('echo', 'next')).toBe('next');
});

test('disposing answers waiting calls, refuses later calls, and may be repeated', async () => {
  const { channel, problems } = await openChannel(ECHO);
  const last = channel.call('echo', 'last');
  const closed = channel[Symbol.asyncDispose]();
  await expect(channel.call('echo', 'late')).rejects.toMatchObject({ code: 'unavailable' });
  expect(await last).toBe('last');
  await closed;
  await channel[Symbol.asyncDispose]();
  expect(problems).toEqual([]);
});
