/**
 * Keeps recently built long texts, in the pieces in which they are sent. A reader requests a text's pieces one after the other,
 * and output is often requested again. With a kept text, the job's events need not be read each time. Events never change, so a
 * kept text is never wrong. A text that was forgotten is built again.
 */
import { Kept } from './kept.ts';

/** A piece in UTF-8. `after` is the number of the event before its first event; `last` is that of its last event. */
export interface KeptPiece {
  readonly after: number;
  readonly last: number;
  readonly content: Uint8Array;
}

/** A whole text. */
export interface KeptText {
  readonly bytes: number;
  /** The pieces, in order. */
  readonly pieces: readonly KeptPiece[];
}

/** How many bytes all kept texts together may have. */
const keptBytesMax = 8 * 2 ** 20;

/** Texts by name. */
export class KeptTexts extends Kept<KeptText> {
  constructor(bytesMax = keptBytesMax) {
    super({ sizeMax: bytesMax, sizeOf: ({ bytes }) => bytes });
  }
}
