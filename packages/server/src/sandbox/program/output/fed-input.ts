/**
 * Standard input that is too large for memory. Each piece is read only when the pipe has taken the piece before, so a program
 * that does not read holds back its input.
 */
import { NotGiven, type Program } from '../../sandbox.ts';
import type { PipeInput } from './pipe-input.ts';

/** Writes a program's text input, if any, and closes the pipe. The pipe stays open for input in pieces or from a program. */
export function endWithText({ stdin, interaction }: Pick<Program, 'stdin' | 'interaction'>, pipe: PipeInput): void {
  if (typeof stdin === 'string') pipe.end(stdin);
  else if (stdin === null && interaction === undefined) pipe.end();
}

export class FedInput {
  readonly #pipe: PipeInput;
  readonly #feeding: Promise<void>;
  /** Whether nobody reads the input any more. */
  #isOver = false;
  #failure: unknown = null;

  /** Starts to feed the input. `failed` is called if a piece cannot be read: the program must not take a part for the whole. */
  static of({ stdin }: Pick<Program, 'stdin'>, pipe: PipeInput, failed: () => void): FedInput | null {
    return stdin === null || typeof stdin === 'string' ? null : new FedInput(stdin, pipe, failed);
  }

  /** Reads the first piece only after this turn of the event loop, because the program is released in this turn. */
  private constructor(pieces: AsyncIterable<Uint8Array>, pipe: PipeInput, failed: () => void) {
    this.#pipe = pipe;
    this.#feeding = this.#feed(pieces).catch((error: unknown) => {
      this.#failure = error;
      if (!this.#isOver) failed();
    });
  }

  /**
   * Called when the program has ended. Rejects with `NotGiven` if its input could not be read to the end. The part that the
   * program did not read is read now, too, because the record has the digest of the whole input.
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
