/**
 * Watches every open connection: its age, whether its reader still takes bytes, which answers are under way on it, and
 * whether it must give way to others. One sweep checks all connections. Spec § Limits 15, 16, 18.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onAnswerEnd } from '../answer/answer-end.ts';
import { type Connection, type Ending, noteProgress, peerOf, resetConnection } from './connection.ts';
import { Intake } from './intake.ts';
import { placesOfStrangers, whoGivesWay } from './room.ts';
import type { TransportBounds } from './transport.ts';
import { Turns } from './turns.ts';

/** How long a client may take to read the last answer on its connection and to close the connection. */
const lingerMilliseconds = 1000;

/** The connections of one listener. Disposing it destroys those that are still open. */
export class Connections implements Disposable {
  readonly #bounds: TransportBounds;
  readonly #gaveWay: () => void;
  readonly #open = new Map<Socket, Connection>();
  readonly #turns = new Turns();
  readonly #timer: NodeJS.Timeout;
  #willMakeRoom = false;

  /** `gaveWay` is called for each connection that had to give way to others. */
  constructor(bounds: TransportBounds, gaveWay: () => void = () => undefined) {
    this.#bounds = bounds;
    this.#gaveWay = gaveWay;
    this.#timer = setInterval(() => this.sweep(performance.now()), bounds.checkMilliseconds);
    this.#timer.unref();
  }

  get count(): number {
    return this.#open.size;
  }

  /** Registers a connection that the HTTP server has just accepted. */
  add(socket: Socket): void {
    const now = performance.now();
    const answers: ServerResponse[] = [];
    const isClosing = () => this.isClosing(socket);
    const connection: Connection = {
      socket,
      peer: peerOf(socket.remoteAddress ?? ''),
      openedAt: now,
      answers,
      intake: new Intake(socket, { turns: this.#turns, answers, isClosing }),
      requests: 0,
      tenant: null,
      quietSince: now,
      accepted: 0,
      left: 0,
      progressAt: now,
      closesAt: null,
      closesWhenSent: false,
      onEnding: null,
    };
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    this.#turns.connectionTaken();
    this.#makeRoomSoon();
  }

  /**
   * Registers an answer. False if the connection is closing. The request must then be ignored, since its bytes belong
   * to an earlier, refused request.
   */
  beginAnswer(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(request.socket);
    if (connection === undefined || connection.closesAt !== null) return false;
    connection.intake.requestBegan(request);
    connection.requests += 1;
    connection.answers.push(response);
    onAnswerEnd(response, () => this.#answerEnded(connection, response));
    // The longest wait takes half of a connection's life, so an answer that begins in the second half must be the last.
    const age = performance.now() - connection.openedAt;
    if (age > this.#bounds.connectionMilliseconds / 2) response.shouldKeepAlive = false;
    return true;
  }

  /** Records that a live credential of this tenant was shown on a connection. */
  recognize(socket: Socket, tenant: string): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.tenant = tenant;
  }

  /** Notes that the connection uses another protocol from now on. Returns the bytes that had already arrived for it. */
  upgrade(socket: Socket): Buffer {
    return this.#open.get(socket)?.intake.release() ?? Buffer.alloc(0);
  }

  /** The answers under way on a connection, oldest first. */
  answersOn(socket: Socket): readonly ServerResponse[] {
    return this.#open.get(socket)?.answers ?? [];
  }

  /** Whether this connection accepts no further request. */
  isClosing(socket: Socket): boolean {
    return this.#open.get(socket)?.closesAt !== null;
  }

  /** Accepts no further request from this connection and destroys it soon. */
  close(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.closesAt = Math.min(
      connection.closesAt ?? Number.POSITIVE_INFINITY,
      performance.now() + lingerMilliseconds,
    );
  }

  /** Accepts no further request from this connection. The connection ends with the answer under way. */
  closeAfterAnswer(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.closesAt ??= Number.POSITIVE_INFINITY;
  }

  /** Closes this connection soon after the kernel has everything that was written to it. */
  closeWhenSent(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.closesAt ??= Number.POSITIVE_INFINITY;
    connection.closesWhenSent = true;
  }

  /** Makes every answer under way the last on its connection, unless the answer's head was already sent. */
  closeAfterAnswers(): void {
    for (const { answers } of this.#open.values()) for (const answer of answers) answer.shouldKeepAlive = false;
  }

  /** Calls `callback` when the connection must end, a moment before the socket is destroyed. */
  onEnding(socket: Socket, callback: (why: Ending) => void): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.onEnding = callback;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Ends everything that is due at `now`, in milliseconds on the monotonic clock. The sweep also runs by itself. */
  sweep(now: number): void {
    for (const connection of this.#open.values()) {
      noteProgress(connection, now);
      if (connection.closesWhenSent && connection.socket.writableLength === 0) {
        connection.closesWhenSent = false;
        connection.closesAt = Math.min(connection.closesAt ?? Number.POSITIVE_INFINITY, now + lingerMilliseconds);
      }
      const closesAt = connection.closesAt ?? Number.POSITIVE_INFINITY;
      const isStuck = now - connection.progressAt >= this.#bounds.writeProgressMilliseconds;
      const isOld = now - connection.openedAt >= this.#bounds.connectionMilliseconds;
      if (now >= closesAt) giveUp(connection);
      else if ((isStuck || isOld) && closesAt === Number.POSITIVE_INFINITY) {
        end(connection, { why: isStuck ? 'stuck' : 'old', now });
      }
    }
    this.makeRoom(now);
  }

  /** Ends connections until the others are within their bounds, or none of them can give way. */
  makeRoom(now: number): void {
    for (;;) {
      if (this.#open.size <= Math.min(this.#bounds.connectionsOfPeer, placesOfStrangers(this.#bounds))) return;
      const connection = whoGivesWay(this.#open.values(), this.#bounds, now);
      if (connection === null) return;
      // The connection is removed here, because the event that reports its end would come later.
      this.#open.delete(connection.socket);
      resetConnection(connection.socket);
      this.#gaveWay();
    }
  }

  /** Makes room a moment later: if many clients connect together, the requests that have arrived must be read first. */
  #makeRoomSoon(): void {
    if (this.#willMakeRoom) return;
    this.#willMakeRoom = true;
    setImmediate(() =>
      setImmediate(() => {
        this.#willMakeRoom = false;
        this.makeRoom(performance.now());
      }),
    );
  }

  #answerEnded(connection: Connection, response: ServerResponse): void {
    const at = connection.answers.indexOf(response);
    if (at >= 0) connection.answers.splice(at, 1);
    if (connection.answers.length === 0) connection.quietSince = performance.now();
    connection.intake.answerEnded();
  }
}

function end(connection: Connection, { why, now }: { why: Ending; now: number }): void {
  if (connection.onEnding === null) {
    giveUp(connection);
    return;
  }
  connection.closesAt = now + lingerMilliseconds;
  connection.onEnding(why);
}

function giveUp({ socket }: Connection): void {
  if (socket.writableLength > 0) resetConnection(socket);
  else socket.destroy();
}
