/**
 * Long texts that were lately put together, in the pieces in which they leave. Whoever takes a text asks for its pieces one
 * after the other, and what a program wrote is often asked for again: neither should read the job's events each time. The
 * events of a text never change, so what is kept is never wrong; what is forgotten is put together again.
 */
import { Kept } from './kept.ts';

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

/** Texts by name. */
export class KeptTexts extends Kept<KeptText> {
  constructor(bytesMax = keptBytesMax) {
    super({ sizeMax: bytesMax, sizeOf: ({ bytes }) => bytes });
  }
}
