/** Puts a long text together from what its events give to it, in pieces of about the same length. */
import type { KeptPiece, KeptText } from '../kept/kept-texts.ts';

/** A piece ends with the event in which it became this long, in UTF-16 units. */
export const pieceBytes = 128 * 1024;

export interface TextBuilderOptions {
  /** Whether its events are the members of a list, which a comma parts. */
  readonly isList: boolean;
  /** The event before the first of the whole text. */
  readonly from: number;
  /** The event before the first that will be added; `from` where it is left out. */
  readonly after?: number;
  /** Of a text that has more bytes only these are counted. */
  readonly bytesMax: number;
}

export class TextBuilder {
  readonly #options: TextBuilderOptions;
  #pieces: KeptPiece[] = [];
  #text = '';
  /** The event before the piece that is being written, and the last in it. */
  #after: number;
  #last: number;
  #bytes = 0;

  constructor(options: TextBuilderOptions) {
    this.#options = options;
    this.#after = options.after ?? options.from;
    this.#last = this.#after;
  }

  /** Those that have ended. */
  get pieces(): readonly KeptPiece[] {
    return this.#pieces;
  }

  add(text: string, seq: number): void {
    const { isList, from } = this.#options;
    this.#text += isList && (this.#text !== '' || this.#after > from) ? `,${text}` : text;
    this.#last = seq;
    if (this.#text.length >= pieceBytes) this.#endPiece();
  }

  /** The text, which no event after the added ones and up to `until` gives anything to. */
  end(until: number): KeptText {
    const last = this.#pieces.at(-1);
    this.#last = until;
    if (this.#text !== '') this.#endPiece();
    else if (last !== undefined) this.#pieces[this.#pieces.length - 1] = { ...last, last: until };
    return { bytes: this.#bytes, pieces: this.#pieces };
  }

  #endPiece(): void {
    const content = new TextEncoder().encode(this.#text);
    this.#bytes += content.length;
    if (this.#bytes > this.#options.bytesMax) this.#pieces = [];
    else this.#pieces.push({ after: this.#after, last: this.#last, content });
    this.#after = this.#last;
    this.#text = '';
  }
}
