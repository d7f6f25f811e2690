/**
 * Long texts that were lately put together, in the pieces in which they leave. Whoever takes a text asks for its pieces one
 * after the other, and what a program wrote is often asked for again: neither should read the job's events each time. The
 * events of a text never change, so what is kept is never wrong; what is forgotten is put together again.
 */

/** A piece in UTF-8, the event before its first and its last event. */
export interface KeptPiece {
  readonly after: number;
  readonly last: number;
  readonly content: Uint8Array;
}

/** A whole text. */
export interface KeptText {
  readonly bytes: number;
  /** In order. */
  readonly pieces: readonly KeptPiece[];
}

/** Bytes of all kept texts together. */
const keptBytesMax = 8 * 2 ** 20;

/** Texts by name; those that came first are forgotten first. */
export class KeptTexts {
  readonly #bytesMax: number;
  readonly #texts = new Map<string, KeptText>();
  #bytes = 0;

  constructor(bytesMax = keptBytesMax) {
    this.#bytesMax = bytesMax;
  }

  get(name: string): KeptText | undefined {
    return this.#texts.get(name);
  }

  /** A text of more bytes than all may have together is not kept. */
  keep(name: string, text: KeptText): void {
    if (text.bytes > this.#bytesMax || this.#texts.has(name)) return;
    this.#texts.set(name, text);
    this.#bytes += text.bytes;
    for (const [oldest, { bytes }] of this.#texts) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#texts.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}
