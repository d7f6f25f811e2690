/**
 * Standard input that is too large for memory. A piece is read when the pipe has taken the one before, so a program that does
 * not read holds it back.
 */
import { NotGiven, type Program } from '../../sandbox.ts';
import type { PipeInput } from './pipe-input.ts';

/** Ends the pipe of a released program with the text that it is given. A program whose input comes otherwise keeps it open. */
export function endWithText({ stdin, interaction }: Pick<Program, 'stdin' | 'interaction'>, pipe: PipeInput): void {
  if (typeof stdin === 'string') pipe.end(stdin);
  else if (stdin === null && interaction === undefined) pipe.end();
}

export class FedInput {
  readonly #pipe: PipeInput;
  readonly #feeding: Promise<void>;
  /** Nobody reads it any more. */
  #isOver = false;
  #failure: unknown = null;

  /** `failed` is called if a piece cannot be read: the program must not take a part of its input for all. */
  static of({ stdin }: Pick<Program, 'stdin'>, pipe: PipeInput, failed: () => void): FedInput | null {
    return stdin === null || typeof stdin === 'string' ? null : new FedInput(stdin, pipe, failed);
  }

  /** The first piece comes after this turn of the event loop, in which the program is released. */
  private constructor(pieces: AsyncIterable<Uint8Array>, pipe: PipeInput, failed: () => void) {
    this.#pipe = pipe;
    this.#feeding = this.#feed(pieces).catch((error: unknown) => {
      this.#failure = error;
      if (!this.#isOver) failed();
    });
  }

  /**
   * The program has ended. Rejects with `NotGiven` if its input could not be read to its end: the digest of all of it is in the
   * record, so what the program left is read, too.
   */
  async over(): Promise<void> {
    this.#isOver = true;
    this.#pipe.destroy();
    await this.#feeding;
    if (this.#failure !== null)
      throw new NotGiven('standard input could not be read to its end', { cause: this.#failure });
  }

  async #feed(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of pieces) if (!this.#isOver) await this.#passed(piece);
    if (!this.#isOver) this.#pipe.end();
  }

  #passed(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) =>
      this.#pipe.passLater(piece, (isTaken) => {
        this.#isOver ||= !isTaken;
        resolve();
      }),
    );
  }
}
