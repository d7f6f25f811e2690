/**
 * The standard input of a program, written by another program while both run. Bytes pass through the service one chunk at a time:
 * while a chunk waits for room in the pipe, nothing more is read from the program that writes.
 */
import { createHash } from 'node:crypto';
import type { DeliveredInput } from '@vouchbox/protocol';
import type { PipeInput } from './pipe-input.ts';

/** The size of a piece. Pipes take it whole or not at all (`PIPE_BUF` in pipe(7)), so what was delivered is known to the byte. */
const PIECE_BYTES = 4096;

/** The source of the bytes, which is paused while they wait. */
export interface Pausable {
  pause(): unknown;
  resume(): unknown;
}

export class LiveInput {
  readonly #hash = createHash('sha256');
  readonly #waiting: Buffer[] = [];
  readonly #onDelivered: () => void;
  #pipe: PipeInput | null = null;
  #source: Pausable | null = null;
  #bytes = 0;
  #isSending = false;
  /** Whether the input ends after the bytes that wait. */
  #isEnding = false;
  /** Whether the source is gone. The bounded rest in its pipe is then taken without a pause. */
  #takesAll = false;
  #isClosed = false;

  constructor(onDelivered: () => void) {
    this.#onDelivered = onDelivered;
  }

  /** Connects the pipe of the program that reads the input. Bytes that arrived earlier are sent now. */
  open(pipe: PipeInput): void {
    this.#pipe = pipe;
    this.#send();
  }

  /** Sends a chunk, which is valid only during this call. The source is paused until all of it was delivered. */
  take(chunk: Uint8Array, source: Pausable): void {
    if (this.#isClosed) return;
    for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      if (this.#waiting.length > 0 || !this.#delivered(piece)) this.#waiting.push(Buffer.from(piece));
    }
    if (this.#waiting.length === 0 || this.#isClosed) return;
    if (!this.#takesAll) source.pause();
    this.#source = source;
    this.#send();
  }

  /** Called when the source is gone. The rest of the source's output is taken now, however many bytes wait. */
  takeAll(source: Pausable): void {
    this.#takesAll = true;
    source.resume();
  }

  /** Closes the pipe once all waiting bytes were delivered, so that the program then finds the end. */
  end(): void {
    this.#isEnding = true;
    this.#send();
  }

  /** Called when nobody reads the input any more. Waiting and later bytes are dropped. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#pipe?.destroy();
    this.#source?.resume();
  }

  /** The descriptor of the pipe; null if the input has ended, or if the pipe has no room for bytes that wait. */
  get idleDescriptor(): number | null {
    const isIdle = !this.#isClosed && !this.#isEnding && this.#waiting.length === 0;
    return isIdle ? (this.#pipe?.descriptor ?? null) : null;
  }

  /** Whether bytes wait because the pipe has no room for them, so that their writer waits, too. */
  get isFull(): boolean {
    return !this.#isClosed && this.#waiting.length > 0;
  }

  /** The bytes delivered until now. */
  delivered(): DeliveredInput {
    return { bytes_delivered: this.#bytes, raw_sha256: this.#hash.copy().digest('hex') };
  }

  /** Offers a piece and returns whether the pipe took it at once. */
  #delivered(piece: Uint8Array): boolean {
    const taken = this.#pipe?.pass(piece) ?? 'later';
    if (taken === 'now') this.#count(piece);
    if (taken === 'never') this.close();
    return taken !== 'later';
  }

  #count(piece: Uint8Array): void {
    this.#bytes += piece.byteLength;
    this.#hash.update(piece);
    this.#onDelivered();
  }

  #send(): void {
    if (this.#isSending || this.#isClosed || this.#pipe === null) return;
    const [piece] = this.#waiting;
    if (piece === undefined) {
      this.#source?.resume();
      if (this.#isEnding) this.#pipe.end();
      return;
    }
    this.#isSending = true;
    this.#pipe.passLater(piece, (isTaken) => {
      this.#isSending = false;
      if (this.#isClosed) return;
      if (!isTaken) return this.close();
      this.#waiting.shift();
      this.#count(piece);
      this.#send();
    });
  }
}
