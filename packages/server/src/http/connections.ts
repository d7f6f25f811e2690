/**
 * Watches every open connection: how old it is, whether its reader still takes bytes, and which answers are under way on
 * it. One sweep serves all of them. Spec § Limits, rows on write progress and connection lifetime.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TransportBounds } from './transport.ts';

/** After an answer that ends a connection, how long the client may take to read it and close. */
const lingerMilliseconds = 1000;

/** A connection on which nothing happened for this long is given up where another one needs its place. */
const restMilliseconds = 5000;

/** Why a connection must end: its reader takes nothing, or its lifetime is over. */
export type Ending = 'stuck' | 'old';

/** What is known of one open connection. Times are of the monotonic clock, in milliseconds. */
interface Connection {
  readonly openedAt: number;
  /** Answers that have begun or are queued, oldest first; those that have ended are dropped when the next begins. */
  answers: ServerResponse[];
  /** Bytes of pieces that the kernel accepted whole, and what was left of the piece in flight. */
  accepted: number;
  left: number;
  /** When one of the two last changed, or nothing was left to send. */
  progressAt: number;
  /** Bytes that came, when that was last looked at. */
  received: number;
  /** Since when nothing came and nothing was answered. */
  restsSince: number;
  /** No request is taken any more, and the socket is destroyed at this time. */
  closesAt: number | null;
  /** Called once when the connection must end; the socket is destroyed a moment later. */
  onEnding: ((why: Ending) => void) | null;
}

/** The connections of one listener. Disposing destroys what is still open. */
export class Connections implements Disposable {
  readonly #bounds: TransportBounds;
  readonly #open = new Map<Socket, Connection>();
  readonly #timer: NodeJS.Timeout;

  constructor(bounds: TransportBounds) {
    this.#bounds = bounds;
    this.#timer = setInterval(() => this.sweep(performance.now()), bounds.checkMilliseconds);
    this.#timer.unref();
  }

  get count(): number {
    return this.#open.size;
  }

  add(socket: Socket): void {
    const now = performance.now();
    this.#open.set(socket, {
      openedAt: now,
      answers: [],
      accepted: 0,
      left: 0,
      progressAt: now,
      received: 0,
      restsSince: now,
      closesAt: null,
      onEnding: null,
    });
    socket.once('close', () => this.#open.delete(socket));
  }

  /**
   * Registers an answer. False where the connection is closing: the request must be ignored, its bytes are what is left
   * behind a refused one.
   */
  beginAnswer(socket: Socket, response: ServerResponse): boolean {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.closesAt !== null) return false;
    connection.answers = connection.answers.filter(isUnderWay);
    connection.answers.push(response);
    // The longest wait begun from here on still fits into what is left of the connection's life.
    const age = performance.now() - connection.openedAt;
    if (age > this.#bounds.connectionMilliseconds / 2) response.shouldKeepAlive = false;
    return true;
  }

  /** The answers under way on a connection, oldest first. */
  answersOn(socket: Socket): readonly ServerResponse[] {
    return this.#open.get(socket)?.answers.filter(isUnderWay) ?? [];
  }

  /** Whether no further request of this connection is taken. */
  isClosing(socket: Socket): boolean {
    return this.#open.get(socket)?.closesAt !== null;
  }

  /** Takes no further request from this connection and destroys it soon. */
  close(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.closesAt = Math.min(
      connection.closesAt ?? Number.POSITIVE_INFINITY,
      performance.now() + lingerMilliseconds,
    );
  }

  /** Takes no further request from this connection, which ends with the answer under way. */
  closeAfterAnswer(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.closesAt ??= Number.POSITIVE_INFINITY;
  }

  /** Makes every answer that is under way the last of its connection, where its head is not out yet. */
  closeAfterAnswers(): void {
    for (const { answers } of this.#open.values()) {
      for (const answer of answers.filter(isUnderWay)) answer.shouldKeepAlive = false;
    }
  }

  /** Has `callback` called when the connection must end, a moment before the socket is destroyed. */
  onEnding(socket: Socket, callback: (why: Ending) => void): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.onEnding = callback;
  }

  /**
   * Gives up the one connection that has rested longest, so that a client who was turned away finds room when it tries
   * again. One that was used a moment ago, or that is a stream, is nobody's to take.
   */
  makeRoom(now: number): void {
    let longest: [Socket, Connection] | null = null;
    for (const [socket, connection] of this.#open) {
      noteRest(socket, connection, now);
      const isTaken = connection.onEnding !== null || connection.closesAt !== null;
      if (isTaken || now - connection.restsSince < restMilliseconds) continue;
      if (longest === null || connection.restsSince < longest[1].restsSince) longest = [socket, connection];
    }
    longest?.[0].destroy();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Ends what is due at `now`, a time of the monotonic clock in milliseconds. Runs by itself as well. */
  sweep(now: number): void {
    for (const [socket, connection] of this.#open) {
      noteProgress(socket, connection, now);
      noteRest(socket, connection, now);
      const closesAt = connection.closesAt ?? Number.POSITIVE_INFINITY;
      const isStuck = now - connection.progressAt >= this.#bounds.writeProgressMilliseconds;
      const isOld = now - connection.openedAt >= this.#bounds.connectionMilliseconds;
      if (now >= closesAt) socket.destroy();
      else if ((isStuck || isOld) && closesAt === Number.POSITIVE_INFINITY) {
        end(socket, connection, { why: isStuck ? 'stuck' : 'old', now });
      }
    }
  }
}

function noteRest(socket: Socket, connection: Connection, now: number): void {
  if (socket.bytesRead === connection.received && !connection.answers.some(isUnderWay)) return;
  connection.received = socket.bytesRead;
  connection.restsSince = now;
}

function isUnderWay(answer: ServerResponse): boolean {
  return !answer.closed && !answer.destroyed;
}

function end(socket: Socket, connection: Connection, { why, now }: { why: Ending; now: number }): void {
  if (connection.onEnding === null) {
    socket.destroy();
    return;
  }
  connection.closesAt = now + lingerMilliseconds;
  connection.onEnding(why);
}

/**
 * A stuck reader shows in two numbers that stand still: bytes of pieces that were accepted whole, and what is left of the
 * piece in flight. The latter is known to the handle alone, which is where Node's own socket timeout reads it too.
 */
function noteProgress(socket: Socket, connection: Connection, now: number): void {
  const accepted = socket.bytesWritten - socket.writableLength;
  const left = (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
  if (socket.writableLength > 0 && accepted === connection.accepted && left === connection.left) return;
  connection.accepted = accepted;
  connection.left = left;
  connection.progressAt = now;
}
