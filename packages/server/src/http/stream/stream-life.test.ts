import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { STREAM_CLOSE_CODES, streamPingMilliseconds } from '@vouchbox/protocol';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import type { Caller } from '../../ground/caller.ts';
import type { Ending } from '../connections/connection.ts';
import type { Connections } from '../connections/connections.ts';
import type { AuthorityWatch } from './authority.ts';
import { lifeOfStream } from './stream-life.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A stream whose socket only records what is done to it. */
function opened({ stopping = new AbortController(), gaveWay = new AbortController() } = {}) {
  const done: string[] = [];
  const socket = Object.assign(new EventEmitter(), {
    bufferedAmount: 0,
    ping: () => void done.push('ping'),
    pong: (data: Buffer) => void done.push(`pong ${data.toString()}`),
    terminate: () => void done.push('terminate'),
    close: (code: number) => void done.push(`close ${code}`),
  });
  let endFor: (why: Ending) => void = () => undefined;
  let endAuthority: () => void = () => undefined;
  const connections = {
    close: () => void done.push('closed'),
    onEnding: (_connection: Socket, end: typeof endFor) => {
      endFor = end;
    },
  };
  const authority = {
    watch: (_caller: Caller, end: () => void) => {
      endAuthority = end;
      return () => void done.push('unwatched');
    },
  };
  const life = lifeOfStream(socket as unknown as WebSocket, {
    caller: {} as Caller,
    connection: {} as Socket,
    connections: connections as unknown as Connections,
    authority: authority as unknown as AuthorityWatch,
    stopping: stopping.signal,
    gaveWay: gaveWay.signal,
  });
  return {
    done,
    socket,
    life,
    stopping,
    gaveWay,
    end: (why: Ending) => endFor(why),
    endAuthority: () => endAuthority(),
  };
}

const passIntervals = (count: number) => vi.advanceTimersByTime(streamPingMilliseconds * count);

describe('a stream', () => {
  test('stays open while its client answers each ping', () => {
    const { done, socket } = opened();
    for (let interval = 0; interval < 4; interval += 1) {
      passIntervals(1);
      socket.emit('pong');
    }
    expect(done).toEqual(['ping', 'ping', 'ping', 'ping']);
  });

  test('ends at the next ping if its client has not answered the previous one', () => {
    const { done, socket } = opened();
    passIntervals(1);
    socket.emit('pong');
    passIntervals(1);
    expect(done).not.toContain('terminate');
    passIntervals(1);
    expect(done.slice(0, 3)).toEqual(['ping', 'ping', 'terminate']);
  });

  test.each([
    [64 * 1024 - 1, ['pong a']],
    [64 * 1024, []],
  ])('answers a ping unless too many bytes wait for its reader: %i bytes, %j', (bufferedAmount, answers) => {
    const { done, socket } = opened();
    socket.bufferedAmount = bufferedAmount;
    socket.emit('ping', Buffer.from('a'));
    expect(done).toEqual(answers);
  });

  test.each([
    ['the service stops', (stream: Opened) => stream.stopping.abort(), STREAM_CLOSE_CODES.restarting],
    ['another tenant needs the place', (stream: Opened) => stream.gaveWay.abort(), STREAM_CLOSE_CODES.gaveWay],
    ['the credential ends', (stream: Opened) => stream.endAuthority(), STREAM_CLOSE_CODES.credentialEnded],
    ['its connection is old', (stream: Opened) => stream.end('old'), STREAM_CLOSE_CODES.lifetimeReached],
    ['its reader takes nothing', (stream: Opened) => stream.end('stuck'), STREAM_CLOSE_CODES.lagged],
    ['its client sends a message', (stream: Opened) => stream.socket.emit('message'), STREAM_CLOSE_CODES.messageSent],
  ])('closes once when %s', { tags: ['Stream-3c'] }, (_why, act, code) => {
    const stream = opened();
    act(stream);
    act(stream);
    expect(stream.done).toEqual([`close ${code}`, 'closed']);
    expect(stream.life.signal.aborted).toBe(true);
  });

  test('closes at once if the service is stopping already', () => {
    const stopping = new AbortController();
    stopping.abort();
    const { done } = opened({ stopping });
    expect(done).toEqual([`close ${STREAM_CLOSE_CODES.restarting}`, 'closed']);
  });

  test('closes at once if another tenant needed its place before it was open', () => {
    const gaveWay = new AbortController();
    gaveWay.abort();
    expect(opened({ gaveWay }).done).toEqual([`close ${STREAM_CLOSE_CODES.gaveWay}`, 'closed']);
  });

  test('a stream ends when its client closes it, and sends no close frame after that', () => {
    const { done, socket, life, stopping } = opened();
    socket.emit('close');
    expect(life.signal.aborted).toBe(true);
    stopping.abort();
    expect(done).toEqual([]);
  });

  test('a disposed stream is no longer watched, pinged or closed', () => {
    const { done, life, stopping, gaveWay } = opened();
    life[Symbol.dispose]();
    passIntervals(3);
    stopping.abort();
    gaveWay.abort();
    expect(done).toEqual(['unwatched']);
  });
});

type Opened = ReturnType<typeof opened>;
