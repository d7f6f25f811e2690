/** Builds a long text from the texts of its events, in pieces of about the same length. */
import type { KeptPiece, KeptText } from '../kept/kept-texts.ts';

/** A piece ends with the event that brings it to this length, in UTF-16 units. */
export const pieceBytes = 128 * 1024;

export interface TextBuilderOptions {
  /** Whether the text's events are items of a list, separated by commas. */
  readonly isList: boolean;
  /** The event before the first event of the whole text. */
  readonly from: number;
  /** The event before the first event that will be added. Default: `from`. */
  readonly after?: number;
  /** A text with more bytes is only counted, not built. */
  readonly bytesMax: number;
}

export class TextBuilder {
  readonly #options: TextBuilderOptions;
  #pieces: KeptPiece[] = [];
  #text = '';
  /** The event before the piece that is being written, and the last event in that piece. */
  #after: number;
  #last: number;
  #bytes = 0;

  constructor(options: TextBuilderOptions) {
    this.#options = options;
    this.#after = options.after ?? options.from;
    this.#last = this.#after;
  }

  /** The pieces that are complete. */
  get pieces(): readonly KeptPiece[] {
    return this.#pieces;
  }

  add(text: string, seq: number): void {
    const { isList, from } = this.#options;
    this.#text += isList && (this.#text !== '' || this.#after > from) ? `,${text}` : text;
    this.#last = seq;
    if (this.#text.length >= pieceBytes) this.#endPiece();
  }

  /** Ends the text at the event `until`. The events after the last added event, up to `until`, add nothing to the text. */
  end(until: number): KeptText {
    const last = this.#pieces.at(-1);
    this.#last = until;
    if (this.#text !== '') this.#endPiece();
    else if (last !== undefined) this.#pieces[this.#pieces.length - 1] = { ...last, last: until };
    return { bytes: this.#bytes, pieces: this.#pieces };
  }

  #endPiece(): void {
    this.#bytes += Buffer.byteLength(this.#text);
    if (this.#bytes > this.#options.bytesMax) this.#pieces = [];
    else this.#pieces.push({ after: this.#after, last: this.#last, content: new TextEncoder().encode(this.#text) });
    this.#after = this.#last;
    this.#text = '';
  }
}
