/**
 * The writing end of a pipe. The bytes that fit are written at once; most inputs fit whole. A stream is made only for the bytes
 * that do not fit, because a stream costs the main thread more than all other work on a pipe.
 */
import { closeSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** Takes over a descriptor that does not block. If there is no reader, the input is dropped. */
export class PipeInput {
  #descriptor: number | null;
  #rest: Socket | null = null;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(text: string | Uint8Array): void {
    const bytes = Buffer.from(text);
    if (this.#rest !== null) this.#rest.write(bytes);
    else if (this.#descriptor !== null) this.#writeTo(this.#descriptor, bytes);
  }

  /** Writes the text and closes the pipe, so that the reader then finds the end. */
  end(text: string | Uint8Array = ''): void {
    this.write(text);
    if (this.#rest !== null) this.#rest.end();
    else this.destroy();
  }

  /**
   * Offers a piece that the pipe takes whole or not at all. `later` means that the pipe has no room now: see `passLater`. `never`
   * means that nobody reads the pipe any more.
   */
  pass(piece: Uint8Array): 'now' | 'later' | 'never' {
    if (this.#rest !== null) return 'later';
    if (this.#descriptor === null) return 'never';
    try {
      writeSync(this.#descriptor, piece);
      return 'now';
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EAGAIN') return 'later';
      if (code === 'EPIPE') return 'never';
      throw error;
    }
  }

  /** Writes a piece when there is room for it, and then says whether the pipe took it. */
  passLater(piece: Uint8Array, done: (isTaken: boolean) => void): void {
    if (this.#rest === null && this.#descriptor !== null) this.#streamTo(this.#descriptor);
    if (this.#rest === null || this.#rest.destroyed) done(false);
    else this.#rest.write(piece, (error) => done(!error));
  }

  /** The descriptor of the pipe while it is open; null afterwards. */
  get descriptor(): number | null {
    if (this.#rest === null) return this.#descriptor;
    const { fd } = (this.#rest as Socket & { _handle: { fd: number } | null })._handle ?? { fd: -1 };
    return fd < 0 ? null : fd;
  }

  destroy(): void {
    this.#rest?.destroy();
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #writeTo(descriptor: number, bytes: Buffer): void {
    const count = writeWhatFits(descriptor, bytes);
    if (count === bytes.byteLength) return;
    this.#streamTo(descriptor).write(bytes.subarray(count));
  }

  #streamTo(descriptor: number): Socket {
    this.#descriptor = null;
    this.#rest = new Socket({ fd: descriptor, readable: false, writable: true });
    this.#rest.on('error', () => {}); // A program need not read its input: a broken pipe is not a failure of ours.
    return this.#rest;
  }
}

/** Writes the bytes that fit, and returns their number. If nobody reads the pipe, all bytes count as written. */
function writeWhatFits(descriptor: number, bytes: Buffer): number {
  try {
    return bytes.byteLength === 0 ? 0 : writeSync(descriptor, bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') return 0;
    if (code === 'EPIPE') return bytes.byteLength;
    throw error;
  }
}
