import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Connections } from './connections.ts';
import { TRANSPORT_BOUNDS } from './transport.ts';

const { writeProgressMilliseconds, connectionMilliseconds } = TRANSPORT_BOUNDS;

/** The numbers of a socket that the watch reads, moved by the test. */
class SocketNumbers extends EventEmitter {
  bytesWritten = 0;
  writableLength = 0;
  bytesRead = 0;
  readonly _handle = { writeQueueSize: 0 };
  isDestroyed = false;

  /** So much was written, of which this is not accepted yet: whole pieces not begun, and the rest of the one in flight. */
  write(bytes: number): void {
    this.bytesWritten += bytes;
    this.writableLength = bytes;
    this._handle.writeQueueSize = bytes;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

function watched() {
  const socket = new SocketNumbers();
  const connections = new Connections(TRANSPORT_BOUNDS);
  connections.add(socket as unknown as Socket);
  const start = Math.ceil(performance.now());
  return {
    socket,
    connections,
    raw: socket as unknown as Socket,
    /** Looks at the connection as it would be so many milliseconds after it was accepted. */
    at: (milliseconds: number) => {
      connections.sweep(start + milliseconds);
      return socket.isDestroyed;
    },
  };
}

test('a connection with nothing to send is not stuck, however long that lasts', () => {
  const { at, connections } = watched();
  expect(at(writeProgressMilliseconds * 3)).toBe(false);
  connections[Symbol.dispose]();
});

test('no byte accepted for the whole deadline closes the connection, and not a moment before', () => {
  const { socket, at } = watched();
  socket.write(100_000);
  expect(at(1000)).toBe(false);
  expect(at(1000 + writeProgressMilliseconds - 1)).toBe(false);
  expect(at(1000 + writeProgressMilliseconds)).toBe(true);
});

test('one byte of the piece in flight begins the deadline anew', () => {
  const { socket, at } = watched();
  socket.write(100_000);
  at(1000);
  socket._handle.writeQueueSize -= 1;
  expect(at(writeProgressMilliseconds)).toBe(false);
  expect(at(writeProgressMilliseconds * 2 - 1)).toBe(false);
  expect(at(writeProgressMilliseconds * 2)).toBe(true);
});

test('a piece that was accepted whole begins the deadline anew, though the next one is as long', () => {
  const { socket, at } = watched();
  socket.write(65_536);
  at(1000);
  socket.write(65_536);
  expect(at(writeProgressMilliseconds)).toBe(false);
  expect(at(writeProgressMilliseconds * 2)).toBe(true);
});

test('no activity saves a connection from the end of its lifetime', () => {
  const { socket, at } = watched();
  for (let time = 0; time < connectionMilliseconds; time += 10_000) {
    socket.write(1);
    expect(at(time)).toBe(false);
  }
  expect(at(connectionMilliseconds)).toBe(true);
});

test('who asked to be told of the end is told once, and of its reason, a moment before it', () => {
  const { at, connections, raw } = watched();
  const told: string[] = [];
  connections.onEnding(raw, (why) => told.push(why));
  expect(at(connectionMilliseconds)).toBe(false);
  expect(at(connectionMilliseconds + 100)).toBe(false);
  expect(told).toEqual(['old']);
  expect(at(connectionMilliseconds + 5000)).toBe(true);
});

test('a connection in the second half of its life is told to close with its next answer', () => {
  const { connections, raw, socket } = watched();
  const answer = () => ({ shouldKeepAlive: true, closed: false }) as ServerResponse;
  const young = answer();
  connections.beginAnswer(raw, young);
  expect(young.shouldKeepAlive).toBe(true);
  expect(connections.answersOn(raw)).toEqual([young]);
  Object.assign(young, { closed: true });
  expect(connections.answersOn(raw)).toEqual([]);
  socket.destroy();
  expect(connections.count).toBe(0);
});

test('a closing connection takes no further answer', () => {
  const { connections, raw } = watched();
  const answer = { shouldKeepAlive: true } as ServerResponse;
  connections.closeAfterAnswer(raw);
  expect(connections.isClosing(raw)).toBe(true);
  expect(connections.beginAnswer(raw, answer)).toBe(false);
  connections[Symbol.dispose]();
});

describe('where a connection was turned away', () => {
  const restMilliseconds = 5000;
  function several(count: number) {
    const connections = new Connections(TRANSPORT_BOUNDS);
    const start = Math.ceil(performance.now());
    const sockets = Array.from({ length: count }, () => new SocketNumbers());
    for (const socket of sockets) connections.add(socket as unknown as Socket);
    return {
      connections,
      sockets,
      raw: (index: number) => sockets[index] as unknown as Socket,
      sweepAt: (milliseconds: number) => connections.sweep(start + milliseconds),
      /** Which connections are left after room was made at this time. */
      leftAfterRoomAt: (milliseconds: number) => {
        connections.makeRoom(start + milliseconds);
        return sockets.flatMap(({ isDestroyed }, index) => (isDestroyed ? [] : [index]));
      },
    };
  }

  test('the one that has rested longest is given up, and no other', () => {
    const { connections, sockets, sweepAt, leftAfterRoomAt } = several(3);
    sweepAt(0);
    for (const [index, socket] of sockets.entries()) {
      socket.bytesRead = 10;
      sweepAt([2000, 1000, 3000][index] ?? 0);
    }
    expect(leftAfterRoomAt(1000 + restMilliseconds)).toEqual([0, 2]);
    expect(leftAfterRoomAt(2000 + restMilliseconds)).toEqual([2]);
    connections[Symbol.dispose]();
  });

  test('none is given up that just came, sent something, is being answered, is closing or is a stream', () => {
    const { connections, sockets, raw, sweepAt, leftAfterRoomAt } = several(5);
    expect(leftAfterRoomAt(restMilliseconds - 1000)).toEqual([0, 1, 2, 3, 4]);
    connections.beginAnswer(raw(1), { closed: false, destroyed: false } as ServerResponse);
    connections.closeAfterAnswer(raw(2));
    connections.onEnding(raw(3), () => {});
    sweepAt(restMilliseconds * 2);
    for (const index of [0, 4]) Object.assign(sockets[index] ?? {}, { bytesRead: 1 });
    expect(leftAfterRoomAt(restMilliseconds * 2)).toEqual([0, 1, 2, 3, 4]);
    expect(leftAfterRoomAt(restMilliseconds * 3)).toHaveLength(4);
    expect(leftAfterRoomAt(restMilliseconds * 3)).toEqual([1, 2, 3]);
    expect(leftAfterRoomAt(restMilliseconds * 4)).toEqual([1, 2, 3]);
    connections[Symbol.dispose]();
  });
});
