import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Connections } from './connections.ts';
import { TRANSPORT_BOUNDS } from './transport.ts';

const { writeProgressMilliseconds, connectionMilliseconds } = TRANSPORT_BOUNDS;

/** A socket's numbers that the watch reads. The test changes them. */
class SocketNumbers extends EventEmitter {
  bytesWritten = 0;
  writableLength = 0;
  bytesRead = 0;
  readonly _handle = { writeQueueSize: 0 };
  isDestroyed = false;
  isReset = false;

  constructor() {
    super();
    // Stands for the HTTP server, which reads here.
    this.on('data', () => {});
  }

  /**
   * Acts as if a piece of this many bytes was just written: the kernel has accepted all earlier pieces, and nothing of this one.
   */
  write(bytes: number): void {
    this.bytesWritten += bytes;
    this.writableLength = bytes;
    this._handle.writeQueueSize = bytes;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }

  resetAndDestroy(): void {
    this.isReset = true;
    this.destroy();
  }
}

/** An answer that has sent nothing yet. */
function answer(): ServerResponse {
  const numbers = { shouldKeepAlive: true, closed: false, destroyed: false, writableLength: 0 };
  return Object.assign(new EventEmitter(), numbers) as unknown as ServerResponse;
}

function requestOn(socket: Socket): IncomingMessage {
  return { socket, headers: {} } as IncomingMessage;
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
    /** Checks the connection as it would be this many milliseconds after it was accepted. */
    at: (milliseconds: number) => {
      connections.sweep(start + milliseconds);
      return socket.isDestroyed;
    },
  };
}

test('a connection without anything to send never counts as stuck', () => {
  const { at, connections } = watched();
  expect(at(writeProgressMilliseconds * 3)).toBe(false);
  connections[Symbol.dispose]();
});

test('a connection is closed after a whole deadline without an accepted byte, and not before', {
  tags: ['Limits-15'],
}, () => {
  const { socket, at } = watched();
  socket.write(100_000);
  expect(at(1000)).toBe(false);
  expect(at(1000 + writeProgressMilliseconds - 1)).toBe(false);
  expect(at(1000 + writeProgressMilliseconds)).toBe(true);
});

test('a stuck connection is reset, so that the kernel keeps no bytes for it, and an idle connection is closed normally', () => {
  const stuck = watched();
  stuck.socket.write(100_000);
  stuck.at(0);
  stuck.at(writeProgressMilliseconds);
  const idle = watched();
  idle.at(connectionMilliseconds);
  expect([stuck.socket.isReset, idle.socket.isReset, idle.socket.isDestroyed]).toEqual([true, false, true]);
});

test('a connection that must close after its answer ends soon after the last byte, or at its deadline if stuck', () => {
  const { socket, connections, raw, at } = watched();
  socket.write(100);
  connections.closeWhenSent(raw);
  expect(at(5000)).toBe(false);
  socket.write(0);
  expect(at(6000)).toBe(false);
  expect(at(8000)).toBe(true);
  const stuck = watched();
  stuck.socket.write(100);
  stuck.connections.closeWhenSent(stuck.raw);
  stuck.at(0);
  expect([stuck.at(writeProgressMilliseconds - 1), stuck.at(writeProgressMilliseconds)]).toEqual([false, true]);
});

test('one accepted byte of the piece that is being sent restarts the deadline', { tags: ['Limits-15'] }, () => {
  const { socket, at } = watched();
  socket.write(100_000);
  at(1000);
  socket._handle.writeQueueSize -= 1;
  expect(at(writeProgressMilliseconds)).toBe(false);
  expect(at(writeProgressMilliseconds * 2 - 1)).toBe(false);
  expect(at(writeProgressMilliseconds * 2)).toBe(true);
});

test('a piece that is accepted whole restarts the deadline, even if the next piece has the same length', () => {
  const { socket, at } = watched();
  socket.write(65_536);
  at(1000);
  socket.write(65_536);
  expect(at(writeProgressMilliseconds)).toBe(false);
  expect(at(writeProgressMilliseconds * 2)).toBe(true);
});

test('a connection ends when its lifetime is over, whatever is active on it', { tags: ['Limits-18'] }, () => {
  const { socket, at } = watched();
  for (let time = 0; time < connectionMilliseconds; time += 10_000) {
    socket.write(1);
    expect(at(time)).toBe(false);
  }
  expect(at(connectionMilliseconds)).toBe(true);
});

test('the listeners for a connection’s end are called once, with the reason, shortly before the end', () => {
  const { at, connections, raw } = watched();
  const told: string[] = [];
  connections.onEnding(raw, (why) => told.push(why));
  expect(at(connectionMilliseconds)).toBe(false);
  expect(at(connectionMilliseconds + 100)).toBe(false);
  expect(told).toEqual(['old']);
  expect(at(connectionMilliseconds + 5000)).toBe(true);
});

test('an answer that begins in the second half of a connection’s lifetime is the last on that connection', () => {
  const { connections, raw, socket } = watched();
  const young = answer();
  connections.beginAnswer(requestOn(raw), young);
  expect(young.shouldKeepAlive).toBe(true);
  expect(connections.answersOn(raw)).toEqual([young]);
  young.emit('close');
  expect(connections.answersOn(raw)).toEqual([]);
  socket.destroy();
  expect(connections.count).toBe(0);
});

test('no further answer begins on a connection that is being closed', () => {
  const { connections, raw } = watched();
  connections.closeAfterAnswer(raw);
  expect(connections.isClosing(raw)).toBe(true);
  expect(connections.beginAnswer(requestOn(raw), answer())).toBe(false);
  connections[Symbol.dispose]();
});
