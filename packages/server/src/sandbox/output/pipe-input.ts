/**
 * The writing end of a pipe. What the pipe has room for is written at once, which is all of most inputs; a stream, which costs
 * the main thread more than all else that is done to a pipe, is made only for the rest.
 */
import { closeSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** Takes over a descriptor that does not block. A reader is not needed: what cannot be written for want of one is dropped. */
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

  /** Whoever reads finds the end behind this. */
  end(text: string | Uint8Array = ''): void {
    this.write(text);
    if (this.#rest !== null) this.#rest.end();
    else this.destroy();
  }

  destroy(): void {
    this.#rest?.destroy();
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #writeTo(descriptor: number, bytes: Buffer): void {
    const count = writeWhatFits(descriptor, bytes);
    if (count === bytes.byteLength) return;
    this.#descriptor = null;
    this.#rest = new Socket({ fd: descriptor, readable: false, writable: true });
    this.#rest.on('error', () => {}); // A program need not read its input: a broken pipe is no failure of ours.
    this.#rest.write(bytes.subarray(count));
  }
}

/** How many bytes are done with. */
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
