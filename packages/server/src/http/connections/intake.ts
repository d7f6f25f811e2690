/**
 * Passes a connection's bytes to the HTTP parser one request at a time. The parser begins every request that it gets, and one
 * read can contain two thousand requests. So a request waits for its turn while an earlier request on its connection is
 * unanswered. While too many requests are unanswered, the connection is not read. RFC 9112 § 9.3.2.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Turns } from './turns.ts';

/** How many requests on one connection may be unanswered at once. */
export const unansweredMax = 8;

/** How many bytes of answers may wait for a connection's reader before the next request is begun. */
export const waitingBytesMax = 64 * 1024;

const HEAD_END = Buffer.from('\r\n\r\n');

export interface IntakeOptions {
  readonly turns: Turns;
  /** Answers under way on the connection, oldest first. The caller keeps this list up to date. */
  readonly answers: readonly ServerResponse[];
  /** Whether no further request is accepted, so that everything that arrives is discarded. */
  readonly isClosing: () => boolean;
}

/** The intake of one connection, from the moment the HTTP server has it. */
export class Intake {
  readonly #socket: Socket;
  readonly #options: IntakeOptions;
  /** Passes bytes to the parser. */
  readonly #parse: (bytes: Buffer) => void;
  /** Bytes that have arrived but were not passed to the parser yet. */
  #rest: Buffer = Buffer.alloc(0);
  /** The last bytes that were passed, because the end of a head may be split between two reads. */
  #shown = '';
  /** How many bytes of the latest request's body were not passed yet, if its length was declared. */
  #bodyLeft = 0;
  #isHeld = false;
  #hasAsked = false;
  #hasTurn = false;
  #isReleased = false;

  constructor(socket: Socket, options: IntakeOptions) {
    this.#socket = socket;
    this.#options = options;
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (parse === undefined) throw new Error('the HTTP server does not listen to this connection');
    this.#parse = parse;
    socket.off('data', parse);
    // A listener on the socket also makes Node give up its direct path from the socket to the parser, which would skip all
    // listeners.
    socket.on('data', this.#take);
  }

  /** Notes that a request on this connection began. */
  requestBegan({ headers }: IncomingMessage): void {
    this.#hasTurn = false;
    this.#bodyLeft = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : 0;
  }

  /** Notes that an answer on this connection was sent, or never will be. */
  answerEnded(): void {
    if (this.#isHeld) this.#askForTurn();
  }

  /** Stops, because the connection now uses another protocol. Returns what arrived after the request that changed it. */
  release(): Buffer {
    this.#isReleased = true;
    this.#socket.off('data', this.#take);
    return this.#rest;
  }

  readonly #take = (bytes: Buffer): void => {
    this.#rest = bytes;
    while (this.#rest.length > 0) {
      if (!this.#isInBody() && this.#options.isClosing()) return;
      if (!this.#mayShow()) {
        this.#hold();
        return;
      }
      this.#show(this.#sliceEnd());
      if (this.#isReleased || this.#socket.destroyed) return;
      // The reader of a body, or the writer of an answer, has asked for this pause and will end it.
      if (this.#socket.isPaused()) {
        this.#socket.unshift(this.#rest);
        return;
      }
    }
  };

  #show(end: number): void {
    const slice = this.#rest.subarray(0, end);
    this.#rest = this.#rest.subarray(end);
    this.#shown = (this.#shown + slice.toString('latin1', Math.max(0, end - 3))).slice(-3);
    this.#bodyLeft = Math.max(0, this.#bodyLeft - end);
    this.#parse(slice);
  }

  /** Whether more may be passed to the parser. A body may always be passed, because its request cannot be answered without it. */
  #mayShow(): boolean {
    const { answers } = this.#options;
    return this.#isInBody() || answers.length === 0 || (this.#hasTurn && this.#mayBegin());
  }

  #isInBody(): boolean {
    return this.#options.answers.at(-1)?.req.complete === false;
  }

  #mayBegin(): boolean {
    const { answers } = this.#options;
    if (answers.length >= unansweredMax) return false;
    return answers.reduce((bytes, answer) => bytes + answer.writableLength, 0) <= waitingBytesMax;
  }

  #hold(): void {
    this.#isHeld = true;
    this.#socket.pause();
    this.#socket.unshift(this.#rest);
    this.#askForTurn();
  }

  #askForTurn(): void {
    if (this.#hasAsked || !this.#mayBegin()) return;
    this.#hasAsked = true;
    this.#options.turns.ask(() => {
      this.#hasAsked = false;
      if (this.#isReleased || this.#socket.destroyed) return;
      this.#hasTurn = true;
      this.#isHeld = false;
      this.#socket.resume();
    });
  }

  /** How much may be passed at once. This never includes two heads. A declared body is passed whole, whatever it contains. */
  #sliceEnd(): number {
    const rest = this.#rest;
    if (this.#bodyLeft > 0) return Math.min(this.#bodyLeft, rest.length);
    const begun = this.#shown.length;
    const seam = (this.#shown + rest.toString('latin1', 0, 3)).indexOf('\r\n\r\n');
    if (seam >= 0) return seam + 4 - begun;
    const end = rest.indexOf(HEAD_END);
    return end < 0 ? rest.length : end + HEAD_END.length;
  }
}
